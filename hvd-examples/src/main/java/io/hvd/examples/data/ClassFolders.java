package io.hvd.examples.data;

import io.hvd.file.TextFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The JPEG and PNG files of a folder that has a folder for every class. The classes are numbered by the order of their names, in
 * which accents count the same however a file system writes them. What systems and tools leave behind is no class and no image.
 *
 * @param labels the class of each file
 */
record ClassFolders(List<String> classes, List<Path> files, int[] labels) {
    private static final Pattern IMAGE = Pattern.compile("[^.].*\\.(jpe?g|png)");
    private static final Pattern OTHER_IMAGE =
            Pattern.compile("[^.].*\\.(gif|bmp|webp|tiff?|p[bgnp]m|heic|heif|avif|jp2|jxl|jfif)");
    private static final Set<String> LEFT_BEHIND =
            Set.of("lost+found", "__MACOSX", "@eaDir", "$RECYCLE.BIN", "System Volume Information");

    /** @throws IOException that names a folder or file which is none that can be read, or has another's name */
    static ClassFolders list(Path folder) throws IOException {
        List<Path> files = new ArrayList<>();
        List<Integer> labels = new ArrayList<>();
        Map<String, Path> classes = classes(folder);
        int label = 0;
        for (Path classFolder : classes.values()) {
            for (Path file : entries(classFolder, file -> !Files.isDirectory(file))) {
                if (hasName(file, OTHER_IMAGE)) {
                    throw new IOException(
                            file + ": expected images that end in .jpg, .jpeg or .png; convert it, or move"
                                    + " it out of the folder");
                }
                if (hasName(file, IMAGE)) {
                    files.add(file);
                    labels.add(label);
                }
            }
            label++;
        }
        return new ClassFolders(
                List.copyOf(classes.keySet()),
                List.copyOf(files),
                labels.stream().mapToInt(Integer::intValue).toArray());
    }

    /** The folders by the names of their classes. */
    private static Map<String, Path> classes(Path folder) throws IOException {
        Map<String, Path> classes = new TreeMap<>();
        for (Path classFolder : entries(folder, Files::isDirectory)) {
            String name = classFolder.getFileName().toString();
            if (name.startsWith(".") || LEFT_BEHIND.contains(name)) {
                continue;
            }
            Path other = classes.put(TextFile.clean(name), classFolder);
            if (other != null) {
                throw new IOException(folder + ": the names of two folders look the same, \""
                        + TextFile.shown(other.getFileName().toString()) + "\" and \"" + TextFile.shown(name) + "\"");
            }
        }
        return classes;
    }

    private static boolean hasName(Path file, Pattern pattern) {
        return pattern.matcher(file.getFileName().toString().toLowerCase(Locale.ROOT))
                .matches();
    }

    private static List<Path> entries(Path folder, Predicate<Path> wanted) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.filter(wanted).sorted().toList();
        }
    }

    /** Refuses a class to train on that has no image, as torchvision does. @param folder for the message */
    void requireImagesOfEveryClass(Path folder) throws IOException {
        boolean[] found = new boolean[classes.size()];
        for (int label : labels) {
            found[label] = true;
        }
        for (int label = 0; label < found.length; label++) {
            if (!found[label]) {
                throw new IOException(folder + ": there is no image in the folder of class \"" + classes.get(label)
                        + "\", expected at least one .jpg, .jpeg or .png; take the folder away if it is no class");
            }
        }
    }
}
