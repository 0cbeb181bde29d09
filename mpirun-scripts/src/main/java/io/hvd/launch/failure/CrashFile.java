package io.hvd.launch.failure;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The file that a JVM writes when it crashes in native code or gets no memory from the system, {@code hs_err_pidPID.log}. */
public final class CrashFile {

    private static final String ERROR_FILE = "-XX:ErrorFile=";
    private static final Pattern NAME = Pattern.compile("hs_err_pid(\\d+)\\.log");

    private CrashFile() {}

    /** The places where the ranks' JVMs would write it, as far as they are known here. */
    public record Places(Path directory, List<String> words, Instant since) {}

    /**
     * The first of the job's crashes.
     *
     * @param said words about the process, with its number if it is known
     * @return lines for the screen; empty if there is no such file
     */
    public static List<String> find(Places places, String said) {
        try {
            List<Path> found = new ArrayList<>();
            addIn(places.directory(), places, found);
            for (String word : places.words()) {
                if (word.startsWith(ERROR_FILE)) {
                    addMatching(places.directory().resolve(word.substring(ERROR_FILE.length())), places, found);
                }
            }
            List<Path> elsewhere = new ArrayList<>();
            addIn(Path.of("/tmp"), places, elsewhere); // where a JVM writes it if it must not write in its own folder
            elsewhere.stream().filter(file -> isNamed(file, said)).forEach(found::add);
            Optional<Path> file = found.stream()
                    .min(Comparator.comparing((Path one) -> !isNamed(one, said)).thenComparing(CrashFile::changed));
            return file.isPresent() ? CrashExcerpt.of(file.get()) : List.of();
        } catch (IOException e) {
            return List.of();
        }
    }

    private static boolean isNamed(Path file, String said) {
        Matcher name = NAME.matcher(file.getFileName().toString());
        return name.matches()
                && Pattern.compile("pid " + name.group(1) + "\\b").matcher(said).find();
    }

    private static void addIn(Path folder, Places places, List<Path> found) throws IOException {
        addMatching(folder.resolve("hs_err_pid%p.log"), places, found);
    }

    private static void addMatching(Path pattern, Places places, List<Path> found) throws IOException {
        Path folder = pattern.toAbsolutePath().getParent();
        if (!Files.isDirectory(folder)) {
            return;
        }
        Pattern name = Pattern.compile(("\\Q" + pattern.getFileName() + "\\E")
                .replace("%p", "\\E\\d+\\Q")
                .replace("%%", "%"));
        try (DirectoryStream<Path> files = Files.newDirectoryStream(
                folder, file -> name.matcher(file.getFileName().toString()).matches())) {
            for (Path file : files) {
                if (Files.isRegularFile(file) && !changed(file).isBefore(places.since())) {
                    found.add(file);
                }
            }
        }
    }

    private static Instant changed(Path file) {
        try {
            return Files.getLastModifiedTime(file).toInstant();
        } catch (IOException e) {
            return Instant.MIN;
        }
    }
}
