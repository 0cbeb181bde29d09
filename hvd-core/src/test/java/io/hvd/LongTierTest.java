package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What test.sh says that it leaves out is what the build leaves out. */
class LongTierTest {
    /** Tests run in the module's folder. */
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    private static final Pattern LIST = Pattern.compile("long_tier\\(\\) \\{.*?<<'EOF'\n(.*?)\nEOF\n", Pattern.DOTALL);
    private static final String LONG = "@Tag(\"" + "long" + "\")";

    @Test
    void everyClassWithALongTestIsNamedAndNoOther() throws IOException {
        assertThat(named()).isSorted().containsExactlyInAnyOrderElementsOf(tagged());
    }

    private static List<String> named() throws IOException {
        String script = Files.readString(ROOT.resolve("mpirun-scripts/test.sh"));
        List<MatchResult> lists = LIST.matcher(script).results().toList();
        assertThat(lists).hasSize(1);
        return lists.get(0)
                .group(1)
                .lines()
                .map(line -> line.replaceFirst(" .*", ""))
                .toList();
    }

    private static List<String> tagged() throws IOException {
        try (Stream<Path> files = Files.walk(ROOT)) {
            return files.filter(file -> file.toString().matches(".*/src/test/java/.*\\.java"))
                    .filter(file -> read(file).contains(LONG))
                    .map(file -> file.getFileName().toString().replace(".java", ""))
                    .toList();
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
