package io.hvd.examples.readme;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the README shows is what the repository has. */
class ReadmeTest {
    private static final Path OWN_TRAINER = Readme.ROOT.resolve("docs/own-trainer");
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)#:]+)\\)");
    private static final Pattern VERSION = Pattern.compile("<([a-z]+)\\.version>([^<]+)</");

    @ParameterizedTest
    @MethodSource
    void javaCodeComesFromTheProjectThatTheBuildRuns(String block) throws IOException {
        try (Stream<Path> files = Files.walk(OWN_TRAINER.resolve("src/main"))) {
            assertThat(files.filter(Files::isRegularFile)
                            .map(Readme::read)
                            .map(ReadmeTest::withoutIndentation)
                            .anyMatch(source -> source.contains(withoutIndentation(block))))
                    .as("a file below %s contains\n%s", OWN_TRAINER, block)
                    .isTrue();
        }
    }

    static List<String> javaCodeComesFromTheProjectThatTheBuildRuns() {
        return Readme.blocks("java");
    }

    @Test
    void theFirstBlockIsTheWholeTrainerButForItsImports() {
        String source = Readme.read(OWN_TRAINER.resolve("src/main/java/com/example/Trainer.java"));

        assertThat(source).endsWith("\n" + Readme.blocks("java").get(0));
        assertThat(Readme.blocks("java").get(0)).contains("// 1:", "// 2:", "// 3:", "// 4:", "// 5:");
    }

    @Test
    void theCoordinatesAreThoseOfTheProjectThatTheBuildRuns() {
        String pom = withoutIndentation(Readme.read(OWN_TRAINER.resolve("pom.xml")));

        assertThat(Readme.blocks("xml"))
                .isNotEmpty()
                .allSatisfy(block -> assertThat(pom).contains(withoutIndentation(block)));
    }

    @Test
    void thatProjectHasTheVersionsOfTheBuild() {
        String parent = Readme.read(Readme.ROOT.resolve("pom.xml"));
        String javacpp = VERSION.matcher(parent)
                .results()
                .filter(found -> found.group(1).equals("javacpp"))
                .findFirst()
                .orElseThrow()
                .group(2);
        String pom = Readme.read(OWN_TRAINER.resolve("pom.xml"));

        List<MatchResult> pinned = VERSION.matcher(parent)
                .results()
                .filter(found -> List.of("pytorch", "openblas", "javacpp").contains(found.group(1)))
                .toList();
        assertThat(pinned)
                .hasSize(3)
                .allSatisfy(found -> assertThat(pom)
                        .contains("<artifactId>" + found.group(1) + "</artifactId>\n            <version>"
                                + found.group(2).replace("${javacpp.version}", javacpp) + "</version>"));
    }

    @Test
    void theErrorShownIsTheOneThatFourRanksGet() {
        List<String> messages = Hvd.spawn(4, hvd -> {
            try {
                hvd.allreduce("fc1.weight", Tensor.of(new float[hvd.rank() == 2 ? 5 : 4]));
                return "nothing was thrown";
            } catch (RankMismatchException e) {
                return e.getMessage();
            }
        });

        assertThat(messages)
                .hasSize(4)
                .allSatisfy(message -> assertThat(Readme.blocks("text").stream().map(String::strip))
                        .contains(HvdException.class.getPackageName() + ".RankMismatchException: " + message));
    }

    @Test
    void linksLeadToFiles() {
        List<String> missing = LINK.matcher(Readme.text())
                .results()
                .map(found -> found.group(1))
                .filter(target -> !Files.exists(Readme.ROOT.resolve(target)))
                .toList();

        assertThat(missing).isEmpty();
    }

    private static String withoutIndentation(String text) {
        return text.lines().map(String::strip).collect(Collectors.joining("\n"));
    }
}
