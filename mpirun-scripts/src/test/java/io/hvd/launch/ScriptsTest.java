package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What no shell script of this repository does. */
final class ScriptsTest {

    private static final Pattern EVALUATES = Pattern.compile("(^|[;&|({\\s])eval\\s");
    private static final Pattern FETCHES = Pattern.compile("(^|[;&|({\\s])(curl|wget)\\s");
    private static final Pattern WORLD_WRITABLE =
            Pattern.compile("/(var/)?tmp/|/dev/shm/[\\w$]|chmod\\s+\\S*(777|o\\+|a\\+)");
    private static final Pattern KEYS_UNCHECKED =
            Pattern.compile("--allow-unauthenticated|trusted=yes|--insecure|--no-check-certificate|AllowInsecure");

    @Test
    void nothingIsEvaluatedFetchedOrPutWhereOthersCanGuessItsName() throws IOException {
        List<Path> scripts = scripts();

        assertThat(scripts).hasSizeGreaterThan(10);
        for (Path script : scripts) {
            List<String> code = Files.readAllLines(script).stream()
                    .map(line -> line.replaceFirst("(^|\\s)#.*", ""))
                    .toList();
            for (Pattern pattern : List.of(EVALUATES, FETCHES, WORLD_WRITABLE, KEYS_UNCHECKED)) {
                assertThat(code.stream().filter(pattern.asPredicate()))
                        .as(script + ": " + pattern)
                        .isEmpty();
            }
        }
    }

    @Test
    void everyTemporaryFolderGoesWithItsScript() throws IOException {
        for (Path script : scripts()) {
            String code = Files.readString(script);
            assertThat(code.split("mktemp", -1).length)
                    .as(script + ": mktemp without trap ... EXIT")
                    .isLessThanOrEqualTo(code.split("trap [^\\n]* EXIT", -1).length);
        }
    }

    private static List<Path> scripts() throws IOException {
        try (Stream<Path> files = Files.walk(Path.of(""))) {
            return files.filter(Files::isRegularFile)
                    .filter(file -> !file.startsWith("src") && !file.startsWith("target"))
                    .filter(file -> !file.toString().matches(".*\\.(c|xml)"))
                    .sorted()
                    .toList();
        }
    }
}
