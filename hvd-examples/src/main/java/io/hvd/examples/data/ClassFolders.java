package io.hvd.examples.data;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The image files of a folder that has a folder for every class. The classes are numbered by the order of their names.
 *
 * @param labels the class of each file
 */
record ClassFolders(List<String> classes, List<Path> files, int[] labels) {
    /** @param endings of the files' names, such as {@code jpe?g}; files that are hidden are left out */
    static ClassFolders list(Path folder, String endings) throws IOException {
        List<String> classes = new ArrayList<>();
        List<Path> files = new ArrayList<>();
        List<Integer> labels = new ArrayList<>();
        for (Path classFolder : sorted(folder, Files::isDirectory)) {
            for (Path file : sorted(classFolder, file -> hasEnding(file, endings))) {
                files.add(file);
                labels.add(classes.size());
            }
            classes.add(classFolder.getFileName().toString());
        }
        return new ClassFolders(
                List.copyOf(classes),
                List.copyOf(files),
                labels.stream().mapToInt(Integer::intValue).toArray());
    }

    private static boolean hasEnding(Path file, String endings) {
        return file.getFileName().toString().toLowerCase(Locale.ROOT).matches("[^.].*\\.(" + endings + ")");
    }

    private static List<Path> sorted(Path folder, Predicate<Path> wanted) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.filter(wanted).sorted().toList();
        }
    }
}
