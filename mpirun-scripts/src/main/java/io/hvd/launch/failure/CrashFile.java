package io.hvd.launch.failure;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The file that a JVM writes when it crashes in native code or gets no memory from the system, {@code hs_err_pidPID.log}. */
public final class CrashFile {

    private static final int MOST_BYTES = 1 << 18;
    private static final int MOST_INNERMOST = 2;
    private static final int MOST_USERS = 3;
    private static final String ERROR_FILE = "-XX:ErrorFile=";
    private static final Pattern NAME = Pattern.compile("hs_err_pid(\\d+)\\.log");
    private static final Pattern REASON = Pattern.compile(
            "#\\s+(SIG[A-Z]+ .*|Internal Error .*|fatal error.*|Error: .*|guarantee.*|assert.*|Out of Memory Error.*"
                    + "|There is insufficient memory .*|Native memory allocation .*)");
    /** Interpreted, compiled, and a stub; a compiled frame has a number and its compiler before the name. */
    private static final Pattern JAVA_FRAME = Pattern.compile("[jJvA] .*");

    private static final Pattern FOUNDATION = Pattern.compile(
            "v |[jJA] +(?:\\d+%? +)?(?:c\\d +)?(?:java|javax|jdk|sun|com\\.sun|kotlin|scala|ai\\.djl|org\\.bytedeco"
                    + "|io\\.hvd(?!\\.(?:examples|benchmarks)))\\.");

    private CrashFile() {}

    /** Where the ranks' JVMs would write it, as far as that is known here. */
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
            return file.isPresent() ? excerpt(file.get()) : List.of();
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

    /** The name, the reason, the frame in which it happened, and where Java was. */
    static List<String> excerpt(Path file) throws IOException {
        String text;
        try (InputStream in = Files.newInputStream(file)) {
            text = new String(in.readNBytes(MOST_BYTES), StandardCharsets.UTF_8);
        }
        List<String> lines = text.lines().map(String::strip).toList();
        List<String> said = new ArrayList<>(List.of("the JVM has crashed and left " + file));
        lines.stream()
                .map(REASON::matcher)
                .filter(Matcher::matches)
                .limit(2)
                .forEach(reason -> said.add("  " + reason.group(1)));
        after(lines, "# Problematic frame:", line -> line.startsWith("# "), 1)
                .forEach(frame -> said.add("  in " + frame.substring(2).strip()));
        lines.stream()
                .filter(line -> line.startsWith("Current thread "))
                .findFirst()
                .ifPresent(thread -> said.add(
                        "  " + thread.replaceFirst(" \\[.*| \\(.*?\\)", "").replaceFirst(" \\[.*", "")));
        List<String> frames =
                after(lines, "Java frames:", line -> JAVA_FRAME.matcher(line).matches(), Integer.MAX_VALUE);
        Stream.concat(
                        frames.stream().limit(MOST_INNERMOST),
                        frames.stream()
                                .skip(MOST_INNERMOST)
                                .filter(CrashFile::isUsers)
                                .limit(MOST_USERS))
                .forEach(frame -> said.add("    " + frame));
        return List.copyOf(said);
    }

    private static boolean isUsers(String frame) {
        return !FOUNDATION.matcher(frame).lookingAt();
    }

    private static List<String> after(List<String> lines, String heading, Predicate<String> belongs, int most) {
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).startsWith(heading)) {
                return lines.subList(i + 1, lines.size()).stream()
                        .takeWhile(belongs)
                        .limit(most)
                        .toList();
            }
        }
        return List.of();
    }
}
