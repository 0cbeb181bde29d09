package io.hvd.examples.volume;

import io.hvd.data.Dataset;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
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
    private static final Pattern MASK = Pattern.compile("seg(.*)\\.nii(\\.gz)?");

    /** Finds the volumes. @throws IOException if there is none, a mask is missing, or two have one name */
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
        Map<String, Path> byName = new HashMap<>();
        for (Path image : images) {
            Path other = byName.put(name(image), image);
            if (other != null) {
                throw new IOException(image + " and " + other.getFileName() + " are the same volume by their names,"
                        + " expected one of them");
            }
        }
        return new VolumeFolder(images);
    }

    static List<Path> imagesIn(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return List.copyOf(files.filter(VolumeFolder::isImage)
                    .sorted(Comparator.comparingLong(VolumeFolder::number).thenComparing(Path::getFileName))
                    .toList());
        }
    }

    private static boolean isImage(Path file) {
        return IMAGE.matcher(file.getFileName().toString()).matches() && !Files.isDirectory(file);
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
     * Checks by their headers that masks have their images' sizes and lie in their places, and that images are large enough.
     *
     * @param roi voxels of the side of a crop
     * @return what is allowed but worth knowing, a line each: images that lie differently, masks that do not say where they lie, masks without an image
     * @throws IOException that names the first file that is not so
     */
    List<String> requireFitting(int roi) throws IOException {
        Map<String, List<Path>> shapes = new LinkedHashMap<>();
        List<Path> unknown = new ArrayList<>();
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
            VoxelPlacement place = VoxelPlacement.of(wanted.space());
            if (!requireSamePlace(image, wanted, place, VoxelPlacement.of(found.space()))) {
                unknown.add(label(image));
            }
            shapes.computeIfAbsent(place.shape(), shape -> new ArrayList<>()).add(image);
        }
        return remarks(shapes, unknown, masksAlone());
    }

    /** Masks whose image is missing. */
    private List<Path> masksAlone() throws IOException {
        try (Stream<Path> files = Files.list(images.get(0).toAbsolutePath().getParent())) {
            return files.filter(
                            file -> MASK.matcher(file.getFileName().toString()).matches())
                    .filter(file -> !Files.exists(file.resolveSibling(
                            "img" + file.getFileName().toString().substring("seg".length()))))
                    .sorted()
                    .toList();
        }
    }

    /** @return whether both files say where they lie, or neither does */
    private static boolean requireSamePlace(Path image, NiftiHeader header, VoxelPlacement wanted, VoxelPlacement found)
            throws IOException {
        boolean comparable = wanted.known() == found.known();
        boolean fits = comparable
                ? found.isThatOf(wanted, header.width(), header.height(), header.depth())
                : found.hasDistancesOf(wanted);
        if (!fits) {
            throw new IOException(
                    label(image) + " lies elsewhere than its image by its affine (sform, qform or pixdim): found "
                            + found.inWords() + ", expected " + wanted.inWords() + " as " + image.getFileName()
                            + "; resample the mask onto its image");
        }
        return comparable;
    }

    private static List<String> remarks(Map<String, List<Path>> shapes, List<Path> unknown, List<Path> alone) {
        List<String> remarks = new ArrayList<>();
        if (shapes.size() > 1) {
            StringJoiner all =
                    new StringJoiner("; ", "the images lie differently, and are taken as they are stored: ", "");
            shapes.forEach((shape, files) -> all.add(shape + ": " + counted(files)));
            remarks.add(all.toString());
        }
        if (!unknown.isEmpty()) {
            remarks.add(
                    "masks that are taken to lie over their images voxel by voxel, because only one of both files has an"
                            + " sform or qform code: " + counted(unknown));
        }
        if (!alone.isEmpty()) {
            remarks.add("masks without an image, which are left out: " + counted(alone));
        }
        return remarks;
    }

    private static String counted(List<Path> files) {
        return files.size() + ", such as " + files.get(0).getFileName();
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
