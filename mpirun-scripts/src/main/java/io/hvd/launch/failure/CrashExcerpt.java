package io.hvd.launch.failure;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The few lines of a crashed JVM's file that say what has happened. */
final class CrashExcerpt {

    private static final int MOST_BYTES = 1 << 18;
    private static final int MOST_INNERMOST = 2;
    private static final int MOST_USERS = 3;
    private static final Pattern REASON = Pattern.compile(
            "#\\s+(SIG[A-Z]+ .*|Internal Error .*|fatal error.*|Error: .*|guarantee.*|assert.*|Out of Memory Error.*"
                    + "|There is insufficient memory .*|Native memory allocation .*)");
    /** Interpreted, compiled, and a stub; a compiled frame has a number and its compiler before the name. */
    private static final Pattern JAVA_FRAME = Pattern.compile("[jJvA] .*");

    private static final Pattern FOUNDATION = Pattern.compile(
            "v |[jJA] +(?:\\d+%? +)?(?:c\\d +)?(?:java|javax|jdk|sun|com\\.sun|kotlin|scala|ai\\.djl|org\\.bytedeco"
                    + "|io\\.hvd(?!\\.(?:examples|benchmarks)))\\.");

    private CrashExcerpt() {}

    /** The name, the reason, the frame in which it happened, and the place of Java. */
    static List<String> of(Path file) throws IOException {
        List<String> said = new ArrayList<>(List.of("the JVM has crashed and left " + file));
        said.addAll(of(lines(file)));
        return List.copyOf(said);
    }

    private static List<String> lines(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            String text = new String(in.readNBytes(MOST_BYTES), StandardCharsets.UTF_8);
            return text.lines().map(String::strip).toList();
        }
    }

    private static List<String> of(List<String> lines) {
        List<String> said = new ArrayList<>();
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
        shown(after(lines, "Java frames:", line -> JAVA_FRAME.matcher(line).matches(), Integer.MAX_VALUE))
                .forEach(frame -> said.add("    " + frame));
        return said;
    }

    /** The innermost frames, and the first of the user's own. */
    private static Stream<String> shown(List<String> frames) {
        return Stream.concat(
                frames.stream().limit(MOST_INNERMOST),
                frames.stream()
                        .skip(MOST_INNERMOST)
                        .filter(CrashExcerpt::isUsers)
                        .limit(MOST_USERS));
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
