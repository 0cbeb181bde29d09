package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A comment begins with its subject or its verb: an opening that leans on something outside it has to be decoded. */
class CommentsTest {
    private static final Pattern LEANING =
            Pattern.compile("\\s*(/\\*\\*|/\\*|//|\\*) (The same|Of|So|Who|Whoever)\\b(?! as).*");

    @Test
    void noCommentLeansOnWhatStandsOutsideIt() throws IOException {
        List<String> leaning = new ArrayList<>();
        List<Path> sources;
        try (Stream<Path> files = Stream.of("hvd-core", "hvd-optimizer", "hvd-examples", "hvd-benchmarks")
                .flatMap(CommentsTest::sources)) {
            sources = files.toList();
        }
        assertThat(sources).hasSizeGreaterThan(500);
        for (Path source : sources) {
            for (String line : Files.readAllLines(source)) {
                if (LEANING.matcher(line).matches()) {
                    leaning.add(source.getFileName() + ": " + line.strip());
                }
            }
        }
        assertThat(leaning).isEmpty();
    }

    private static Stream<Path> sources(String module) {
        try {
            return Files.walk(Path.of("..", module, "src"))
                    .filter(file -> file.toString().endsWith(".java"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
