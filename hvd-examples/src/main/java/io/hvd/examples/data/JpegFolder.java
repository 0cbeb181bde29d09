package io.hvd.examples.data;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A folder of JPEG and PNG files for every class. The classes are numbered by the order of their names, and a file is decoded
 * each time its sample is read, on the thread that reads it.
 */
final class JpegFolder implements ColourImages {
    private final ClassFolders listed;
    private final int rows;
    private final int columns;

    private JpegFolder(ClassFolders listed) throws IOException {
        this.listed = listed;
        JpegImage first = JpegImage.readAsColours(listed.files().get(0));
        this.rows = first.rows();
        this.columns = first.columns();
    }

    /**
     * Lists the files, and decodes the first one to get the size; empty if there is no such folder, or no image in it.
     */
    static Optional<JpegFolder> open(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return Optional.empty();
        }
        ClassFolders listed = ClassFolders.list(folder);
        return listed.files().isEmpty() ? Optional.empty() : Optional.of(new JpegFolder(listed));
    }

    ClassFolders listed() {
        return listed;
    }

    @Override
    public int size() {
        return listed.files().size();
    }

    @Override
    public int rows() {
        return rows;
    }

    @Override
    public int columns() {
        return columns;
    }

    @Override
    public List<String> classes() {
        return listed.classes();
    }

    @Override
    public ImageSample get(int index) throws IOException {
        Path file = listed.files().get(index);
        JpegImage image = JpegImage.readAsColours(file);
        if (image.rows() != rows || image.columns() != columns) {
            throw new IOException(file + ": found " + image.columns() + "x" + image.rows() + " pixels, expected "
                    + columns + "x" + rows + " as in " + listed.files().get(0));
        }
        return new ImageSample(image.normalised(), listed.labels()[index]);
    }
}
