package io.hvd.examples.pages;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The README and the pages in docs, and their fenced blocks. */
final class Pages {
    /** Tests run in the module's folder. */
    static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    static final Path README = ROOT.resolve("README.md");

    /** The pages whose command lines a reader can type on one machine, after a build. */
    private static final List<String> WITH_COMMANDS = List.of(
            "README.md",
            "docs/tutorials/four-ranks.md",
            "docs/how-to/running.md",
            "docs/reference/examples.md",
            "docs/how-to/timeline.md",
            "docs/how-to/failures.md",
            "docs/how-to/runs.md",
            "docs/how-to/data.md",
            "docs/how-to/checkpoints.md");

    /** A page that has its command lines in tables too, beside those of PyTorch. */
    private static final String WITH_COMMANDS_IN_TABLES = "docs/how-to/from-pytorch.md";

    private static final Pattern COMMAND_IN_TEXT =
            Pattern.compile("`((?:mpirun-scripts/|java -jar |srun [^`]*java -jar hvd)[^`]+)`");

    private static final String FENCE = "```";

    private Pages() {}

    static List<Path> all() {
        try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
            return Stream.concat(
                            Stream.of(README, ROOT.resolve("CONTRIBUTING.md"), ROOT.resolve("CHANGELOG.md")),
                            docs.filter(page -> page.toString().endsWith(".md")).sorted())
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A page such as reference/api.md. */
    static Path docs(String page) {
        return ROOT.resolve("docs").resolve(page);
    }

    /** The blocks of a page that open with a word such as java. */
    static List<String> blocks(Path page, String word) {
        List<String> blocks = new ArrayList<>();
        StringBuilder block = null;
        for (String line : read(page).lines().toList()) {
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

    /** The blocks of all pages that open with a word. */
    static List<String> blocks(String word) {
        return all().stream().flatMap(page -> blocks(page, word).stream()).toList();
    }

    /** Every line of the shell blocks and of tables with commands as words, without its comment. */
    static List<List<String>> commands() {
        Stream<String> inBlocks = WITH_COMMANDS.stream()
                .flatMap(page -> blocks(ROOT.resolve(page), "sh").stream())
                .flatMap(String::lines)
                .map(line -> line.replaceFirst("\\s+#.*", ""));
        Stream<String> inText = COMMAND_IN_TEXT
                .matcher(read(ROOT.resolve(WITH_COMMANDS_IN_TABLES)))
                .results()
                .map(command -> command.group(1))
                .filter(command -> !command.contains(" NAME "));
        return Stream.concat(inBlocks, inText)
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
