package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.launch.mpi.MpiInstall;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What no shell script of this repository does. */
final class ScriptsTest {

    private static final Pattern EVALUATES = Pattern.compile("(^|[;&|({\\s])eval\\s");
    private static final Pattern FETCHES = Pattern.compile("(^|[;&|({\\s])(curl|wget)\\s");
    private static final Pattern WORLD_WRITABLE =
            Pattern.compile("/(var/)?tmp/|/dev/shm/[\\w$]|chmod\\s+\\S*(777|o\\+|a\\+)");
    private static final Pattern KEYS_UNCHECKED =
            Pattern.compile("--allow-unauthenticated|trusted=yes|--insecure|--no-check-certificate|AllowInsecure");

    private static final Pattern FUNCTION = Pattern.compile("(?m)^\\s*(?:function )?(\\w+)\\([^)]*\\) [{(]");
    /** A word with an underscore where a command begins. */
    private static final Pattern CALL = Pattern.compile(
            "(?m)(?:^\\s*|\\$\\(|[;&|] *|\\b(?:if|then|else|do|while|until) +!? *)([a-z]+(?:_[a-z]+)+)(?=[;)\\n]| (?![!=<>]))");

    /** Open MPI's program, and what Linux calls a wait for a socket. */
    private static final List<String> OTHERS = List.of("ompi_info", "sk_wait_data");

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

    /** A function that was renamed in one file only is found here, not by who runs the script next. */
    @Test
    void everyFunctionThatIsCalledIsThere() throws IOException {
        Set<String> defined = new TreeSet<>();
        Map<String, Path> called = new TreeMap<>();
        for (Path script : scripts()) {
            String code = Files.readString(script);
            FUNCTION.matcher(code).results().forEach(match -> defined.add(match.group(1)));
            CALL.matcher(code).results().forEach(match -> called.put(match.group(1), script));
        }
        defined.addAll(OTHERS);

        assertThat(called).hasSizeGreaterThan(50);
        called.keySet().removeAll(defined);
        assertThat(called).as("functions that no script defines").isEmpty();
    }

    /** Parts of scripts are read where a script takes them in; some share variables, which shellcheck does not see. */
    @Test
    @Timeout(300)
    void shellcheckHasNothingToSay() throws Exception {
        assumeTrue(
                MpiInstall.onPath("shellcheck", System.getenv()).isPresent(),
                "no shellcheck; apt-get install shellcheck");
        List<String> words = new ArrayList<>(List.of("shellcheck", "-x", "-a", "-S", "warning", "-e", "SC2034,SC2154"));
        for (Path script : scripts()) {
            if (Files.readAllLines(script).get(0).matches("#!.*sh|# shellcheck shell=sh")) {
                words.add(Path.of("mpirun-scripts").resolve(script).toString());
            }
        }

        Process process = new ProcessBuilder(words)
                .directory(new File(".."))
                .redirectErrorStream(true)
                .start();
        assertThat(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .isEmpty();
        assertThat(words)
                .contains("mpirun-scripts/horovodrun")
                .anyMatch(word -> word.endsWith("openmpi/launcher-limit.sh"))
                .anyMatch(word -> word.endsWith("direct/remote-rank.sh"));
        assertThat(process.waitFor()).isZero();
    }

    /** The scripts of this folder, and those that the jars of this module and of hvd-core carry. */
    private static List<Path> scripts() throws IOException {
        try (Stream<Path> here = Files.walk(Path.of(""));
                Stream<Path> ours = Files.walk(Path.of("src/main/resources"));
                Stream<Path> cores = Files.walk(Path.of("../hvd-core/src/main/resources"))) {
            return Stream.concat(
                            here.filter(file ->
                                            Stream.of("src", "target", "spark").noneMatch(file::startsWith))
                                    .filter(file -> !file.toString().matches(".*\\.(c|xml)")),
                            Stream.concat(ours, cores)
                                    .filter(file -> file.toString().endsWith(".sh")))
                    .filter(Files::isRegularFile)
                    .sorted()
                    .toList();
        }
    }
}
