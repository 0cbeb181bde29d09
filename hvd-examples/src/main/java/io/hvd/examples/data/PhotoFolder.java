package io.hvd.examples.data;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.CRC32;

/** JPEG and PNG files of any sizes in a folder for every class, decoded each time they are read. */
record PhotoFolder(ClassFolders listed) implements Photos {
    /** @throws NoSuchFileException if there is no such folder, or no image in it */
    static PhotoFolder open(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            throw new NoSuchFileException(folder.toString(), null, "there is no such folder");
        }
        ClassFolders listed = ClassFolders.list(folder);
        if (listed.files().isEmpty()) {
            throw new NoSuchFileException(
                    folder.toString(), null, "no images: looked for CLASS/*.jpg, *.jpeg and *.png in it");
        }
        return new PhotoFolder(listed);
    }

    List<String> classNames() {
        return listed.classes();
    }

    @Override
    public int size() {
        return listed.files().size();
    }

    @Override
    public int classes() {
        return listed.classes().size();
    }

    @Override
    public int label(int index) {
        return listed.labels()[index];
    }

    /** Covers the names of classes and files, in their order. */
    @Override
    public long checksum() {
        CRC32 sum = new CRC32();
        for (Path file : listed.files()) {
            String name = file.getParent().getFileName() + "/" + file.getFileName();
            sum.update(name.getBytes(StandardCharsets.UTF_8));
        }
        return sum.getValue();
    }

    @Override
    public JpegImage read(int index) throws IOException {
        return JpegImage.readAsColours(listed.files().get(index));
    }
}
