package io.hvd.examples.data;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A folder of JPEG files for every class. The classes are numbered by the order of their names, and a file is decoded
 * each time its sample is read, on the thread that reads it.
 */
final class JpegFolder implements ColourImages {
    private final List<String> classes;
    private final List<Path> files;

    /** The label of each file. */
    private final int[] labels;

    private final int rows;
    private final int columns;

    private JpegFolder(List<String> classes, List<Path> files, List<Integer> labels) throws IOException {
        this.classes = List.copyOf(classes);
        this.files = List.copyOf(files);
        this.labels = labels.stream().mapToInt(Integer::intValue).toArray();
        JpegImage first = JpegImage.read(files.get(0));
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
        List<String> classes = new ArrayList<>();
        List<Path> files = new ArrayList<>();
        List<Integer> labels = new ArrayList<>();
        for (Path classFolder : sorted(folder, Files::isDirectory)) {
            for (Path file : sorted(classFolder, JpegFolder::isJpeg)) {
                files.add(file);
                labels.add(classes.size());
            }
            classes.add(classFolder.getFileName().toString());
        }
        return files.isEmpty() ? Optional.empty() : Optional.of(new JpegFolder(classes, files, labels));
    }

    private static boolean isJpeg(Path file) {
        return file.getFileName().toString().toLowerCase(java.util.Locale.ROOT).matches("[^.].*\\.jpe?g");
    }

    private static List<Path> sorted(Path folder, java.util.function.Predicate<Path> wanted) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.filter(wanted).sorted().toList();
        }
    }

    @Override
    public int size() {
        return files.size();
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
        return classes;
    }

    @Override
    public ImageSample get(int index) throws IOException {
        JpegImage image = JpegImage.read(files.get(index));
        if (image.rows() != rows || image.columns() != columns) {
            throw new IOException(files.get(index) + ": found " + image.columns() + "x" + image.rows()
                    + " pixels, expected " + columns + "x" + rows + " as in " + files.get(0));
        }
        return new ImageSample(image.normalised(), labels[index]);
    }
}
