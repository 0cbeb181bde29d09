package io.hvd.examples.readme;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The fenced blocks of the README. */
final class Readme {
    /** Tests run in the module's folder. */
    static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    private static final String FENCE = "```";

    private Readme() {}

    static String text() {
        return read(ROOT.resolve("README.md"));
    }

    /** The blocks that open with a word such as java. */
    static List<String> blocks(String word) {
        List<String> blocks = new ArrayList<>();
        StringBuilder block = null;
        for (String line : text().lines().toList()) {
            if (block == null && line.equals(FENCE + word)) {
                block = new StringBuilder();
            } else if (block != null && line.equals(FENCE)) {
                blocks.add(block.toString());
                block = null;
            } else if (block != null) {
                block.append(line).append('\n');
            }
        }
        return blocks;
    }

    /** Every line of the shell blocks as words, without its comment. */
    static List<List<String>> commands() {
        return blocks("sh").stream()
                .flatMap(String::lines)
                .map(line -> line.replaceFirst("\\s+#.*", ""))
                .map(line -> Arrays.asList(line.split(" +")))
                .toList();
    }

    static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
