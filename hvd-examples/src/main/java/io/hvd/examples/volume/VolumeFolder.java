package io.hvd.examples.volume;

import io.hvd.data.Dataset;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The volumes of a folder: {@code img*.nii.gz} or {@code img*.nii}, each with its mask {@code seg*} of the same ending, in
 * the order of their numbers. They are read one by one when they are needed.
 *
 * @param images the files of the images
 */
record VolumeFolder(List<Path> images) implements Dataset<LabelledVolume> {
    private static final Pattern IMAGE = Pattern.compile("img(.*)\\.nii(\\.gz)?");

    /** Finds the volumes. @throws IOException if there is none, or a mask is missing */
    static VolumeFolder of(Path folder) throws IOException {
        List<Path> images = imagesIn(folder);
        if (images.isEmpty()) {
            throw new NoSuchFileException(folder.toString(), null, "there is no img*.nii.gz or img*.nii in it");
        }
        for (Path image : images) {
            if (!Files.isRegularFile(label(image))) {
                throw new NoSuchFileException(label(image).toString(), null, "it belongs to " + image.getFileName());
            }
        }
        return new VolumeFolder(images);
    }

    static List<Path> imagesIn(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return new ArrayList<>(files.filter(VolumeFolder::isImage)
                    .sorted(Comparator.comparingLong(VolumeFolder::number).thenComparing(Path::getFileName))
                    .toList());
        }
    }

    private static boolean isImage(Path file) {
        return IMAGE.matcher(file.getFileName().toString()).matches();
    }

    /** The number in a name, so that img10 stands behind img9; names without one come last. */
    private static long number(Path image) {
        String middle = middle(image);
        return middle.matches("[0-9]{1,18}") ? Long.parseLong(middle) : Long.MAX_VALUE;
    }

    private static String middle(Path image) {
        Matcher name = IMAGE.matcher(image.getFileName().toString());
        return name.matches() ? name.group(1) : "";
    }

    private static String name(Path image) {
        return "img" + middle(image);
    }

    private static Path label(Path image) {
        String name = image.getFileName().toString();
        return image.resolveSibling("seg" + name.substring("img".length()));
    }

    VolumeSet asSet() {
        return new VolumeSet(this, images.stream().map(VolumeFolder::name).toList());
    }

    /**
     * Checks by their headers that masks have their images' sizes, and that images are large enough.
     *
     * @param roi voxels of the side of a crop
     * @throws IOException that names the first file that is not so
     */
    void requireSizes(int roi) throws IOException {
        for (Path image : images) {
            NiftiHeader wanted = Nifti.readHeader(image);
            NiftiHeader found = Nifti.readHeader(label(image));
            if (!found.sizes().equals(wanted.sizes())) {
                throw new IOException(label(image) + " has " + found.sizes() + " voxels, expected " + wanted.sizes()
                        + " as " + image.getFileName());
            }
            if (Math.min(wanted.width(), Math.min(wanted.height(), wanted.depth())) < roi) {
                throw new IOException(image + " has " + wanted.sizes() + " voxels, expected at least " + roi
                        + " along each side, as --roi says");
            }
        }
    }

    @Override
    public int size() {
        return images.size();
    }

    @Override
    public LabelledVolume get(int index) throws IOException {
        Path image = images.get(index);
        return new LabelledVolume(name(image), Nifti.read(image), Nifti.read(label(image)));
    }
}
