package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Modules;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A comment begins with its subject or its verb: an opening that leans on something outside it has to be decoded. */
class CommentsTest {
    /** A line that is a comment, or one of its further lines. */
    private static final Pattern LEANING = Pattern.compile(
            "\\s*(/\\*\\*|/\\*|//|\\*|#|<!--) (The same|Of|So|Who|Whoever|Those|By (this|what)|(For|From|After) so (long|many))\\b(?! as).*");
    /** A comment behind code. */
    private static final Pattern LEANING_BEHIND_CODE =
            Pattern.compile(".*\\S.* // (?i:the same|of|who|whoever|those)\\b.*");

    /** The project that shows how a program uses hvd; no module. */
    private static final Path OWN_TRAINER = Path.of("..", "docs", "own-trainer");

    private static final List<String> COMMENTED = List.of(".java", ".cu", ".cuh", ".sh", ".xml");

    @Test
    void noCommentLeansOnWhatStandsOutsideIt() throws IOException {
        List<String> leaning = new ArrayList<>();
        List<Path> sources = sources();
        assertThat(sources).hasSizeGreaterThan(500).anyMatch(source -> source.startsWith(OWN_TRAINER));
        COMMENTED.forEach(ending ->
                assertThat(sources).anyMatch(source -> source.toString().endsWith(ending)));
        for (Path source : sources) {
            for (String line : Files.readAllLines(source)) {
                if (leans(line)) {
                    leaning.add(source.getFileName() + ": " + line.strip());
                }
            }
        }
        assertThat(leaning).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "    /** Of the program, for a result. */",
                "# Whoever looks at the record",
                "    /** Those under way. */",
                "    /** After so many steps it ends. */",
                "     * By what it is multiplied.",
                "        <!-- The same for others. -->",
                "call(); //" + " of the second",
            })
    void anOpeningThatLeansIsSeen(String line) {
        assertThat(leans(line)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "    /** The same as {@link #next}. */",
                "    /** For so long as it waits. */",
                "# of the binding, which ends a sentence",
                "wait(); // so that no pause makes it late",
            })
    void anOpeningThatSaysWhatItMeansIsFine(String line) {
        assertThat(leans(line)).isFalse();
    }

    private static boolean leans(String line) {
        return LEANING.matcher(line).matches()
                || LEANING_BEHIND_CODE.matcher(line).matches();
    }

    private static List<Path> sources() throws IOException {
        List<Path> sources = new ArrayList<>(List.of(Path.of("..", "pom.xml")));
        List<Path> roots = new ArrayList<>(List.of(OWN_TRAINER));
        Modules.names().forEach(module -> roots.add(Path.of("..", module)));
        for (Path root : roots) {
            try (Stream<Path> files = Files.walk(root)) {
                files.filter(CommentsTest::isOurs).forEach(sources::add);
            }
        }
        return sources;
    }

    /** Whether the file is no output of a build. */
    private static boolean isOurs(Path file) {
        return COMMENTED.stream().anyMatch(ending -> file.toString().endsWith(ending))
                && !file.toString().contains(File.separator + "target" + File.separator);
    }
}
