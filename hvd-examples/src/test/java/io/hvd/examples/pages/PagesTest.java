package io.hvd.examples.pages;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SequentialImpl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares the pages with the repository. */
class PagesTest {
    private static final Path OWN_TRAINER = Pages.ROOT.resolve("docs/own-trainer");
    /** Runs where Spark is. */
    private static final Path ON_SPARK =
            Pages.ROOT.resolve("mpirun-scripts/spark/src/test/java/io/hvd/spark/SparkPage.java");

    private static final Pattern LINK = Pattern.compile("\\]\\(([^)#:]*)(?:#([^)]+))?\\)");
    /** Group, artifact, version, and the classifier and scope where there are such. */
    private static final Pattern DEPENDENCY = Pattern.compile("<dependency>\\s*<groupId>([^<]+)</groupId>"
            + "\\s*<artifactId>([^<]+)</artifactId>\\s*<version>([^<]+)</version>"
            + "(?:\\s*<classifier>([^<]+)</classifier>)?(?:\\s*<scope>([^<]+)</scope>)?");

    /** Lines that a program has written into a record, and one command in code. */
    private static final Pattern GENERATED = Pattern.compile("^(On date=|Seen: |`[^`]*`[;.]?$)");

    private static final int MOST_WORDS = 37_400;
    private static final Pattern VERSION = Pattern.compile("<([a-z]+)\\.version>([^<]+)</");

    @ParameterizedTest
    @MethodSource
    void javaCodeComesFromTheProjectThatTheBuildRuns(String block) throws IOException {
        try (Stream<Path> files = Stream.concat(Files.walk(OWN_TRAINER.resolve("src")), Stream.of(ON_SPARK))) {
            assertThat(files.filter(Files::isRegularFile)
                            .map(Pages::read)
                            .map(PagesTest::withoutIndentation)
                            .anyMatch(source -> source.contains(withoutIndentation(block))))
                    .as("%s, or a file below %s, contains\n%s", ON_SPARK, OWN_TRAINER, block)
                    .isTrue();
        }
    }

    static List<String> javaCodeComesFromTheProjectThatTheBuildRuns() {
        return Pages.blocks("java");
    }

    @Test
    void theReadmeShowsAllThatTheTutorialsTrainerGainsAndLoses() {
        List<String> before = body("OneProcess.java");
        List<String> after = body("FourRanks.java");
        List<String> shown = Pages.blocks(Pages.README, "diff").get(0).lines().toList();

        assertThat(marked(shown, '+'))
                .isEqualTo(after.stream().filter(line -> !before.contains(line)).toList());
        assertThat(marked(shown, '-'))
                .isEqualTo(before.stream().filter(line -> !after.contains(line)).toList());
    }

    /** The lines of a program's main method. */
    private static List<String> body(String program) {
        String source =
                Pages.read(OWN_TRAINER.resolve("src/main/java/com/example").resolve(program));
        return withoutIndentation(source.substring(source.indexOf("main(String[] args) {\n")))
                .lines()
                .skip(1)
                .toList();
    }

    private static List<String> marked(List<String> lines, char sign) {
        return lines.stream()
                .filter(line -> line.charAt(0) == sign)
                .map(line -> line.substring(1).strip())
                .toList();
    }

    @Test
    void theCoordinatesAreThoseOfTheProjectThatTheBuildRuns() {
        String pom = withoutIndentation(Pages.read(OWN_TRAINER.resolve("pom.xml")));

        assertThat(Pages.blocks(Pages.docs("how-to/library.md"), "xml"))
                .isNotEmpty()
                .allSatisfy(block -> assertThat(pom).contains(withoutIndentation(block)));
    }

    @Test
    void theGradleFileIsShownAsItIsAndHasTheCoordinatesOfThePom() {
        String gradle = Pages.read(OWN_TRAINER.resolve("build.gradle"));

        assertThat(Pages.blocks(Pages.docs("how-to/library.md"), "groovy")).containsExactly(gradle);
        List<String> coordinates = DEPENDENCY
                .matcher(Pages.read(OWN_TRAINER.resolve("pom.xml")))
                .results()
                .filter(found -> !"test".equals(found.group(5)))
                .map(found -> Stream.of(found.group(1), found.group(2), found.group(3), found.group(4))
                        .filter(Objects::nonNull)
                        .collect(Collectors.joining(":", "'", "'")))
                .toList();
        assertThat(coordinates)
                .hasSizeGreaterThan(5)
                .allSatisfy(one -> assertThat(gradle).contains(one));
    }

    @Test
    void thatProjectHasTheVersionsOfTheBuild() {
        String parent = Pages.read(Pages.ROOT.resolve("pom.xml"));
        String javacpp = VERSION.matcher(parent)
                .results()
                .filter(found -> found.group(1).equals("javacpp"))
                .findFirst()
                .orElseThrow()
                .group(2);
        String pom = Pages.read(OWN_TRAINER.resolve("pom.xml"));

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
                .allSatisfy(message -> assertShown(Pages.README, RankMismatchException.class, message));
        assertShown(Pages.docs("how-to/failures.md"), RankMismatchException.class, messages.get(0));
    }

    /** The tutorial makes rank 2's first layer wider. */
    @Test
    void theMistakeOfTheTutorialGivesTheErrorThatItShows() {
        List<String> messages = Hvd.spawn(4, hvd -> {
            try (var model = new SequentialImpl()) {
                model.push_back(new LinearImpl(2, hvd.rank() == 2 ? 33 : 32));
                hvd.broadcastParameters(TorchTensors.parameters(model), 0);
                return "nothing was thrown";
            } catch (HvdException e) {
                return e.getMessage();
            }
        });

        assertThat(messages)
                .hasSize(4)
                .allSatisfy(message -> assertShown(Pages.docs("tutorials/four-ranks.md"), HvdException.class, message));
    }

    private static void assertShown(Path page, Class<? extends HvdException> type, String message) {
        assertThat(Pages.blocks(page, "text").stream().map(String::strip))
                .as(page.toString())
                .contains(type.getName() + ": " + message);
    }

    @Test
    void theReadmeIsShort() {
        assertThat(Pages.read(Pages.README).lines()).hasSizeLessThanOrEqualTo(120);
    }

    /** The words that a reader has to get through; records are looked up, not read. */
    @Test
    void thePagesHaveAtMostSoManyWords() {
        long words = Pages.all().stream()
                .filter(page -> page.startsWith(Pages.docs("")) && !page.startsWith(Pages.docs("records")))
                .mapToLong(page -> Pages.read(page).strip().split("\\s+").length)
                .sum();

        assertThat(words).isLessThanOrEqualTo(MOST_WORDS);
    }

    @ParameterizedTest
    @MethodSource("io.hvd.examples.pages.Pages#all")
    void linesOfProseAreNotTooLong(Path page) {
        assertThat(withoutFences(Pages.read(page)).lines())
                .filteredOn(line -> line.length() > 120 && line.contains(" "))
                .allMatch(
                        line -> line.startsWith("|") || GENERATED.matcher(line).find());
    }

    @Test
    void theIndexAndTheSiteNameEveryPage() {
        String index = Pages.read(Pages.docs("README.md"));
        String site = Pages.read(Pages.ROOT.resolve("mpirun-scripts/site/mkdocs.yml"));

        Path docs = Pages.ROOT.resolve("docs");
        assertThat(Pages.all())
                .filteredOn(page -> page.startsWith(docs) && !page.equals(Pages.docs("README.md")))
                .allSatisfy(page -> {
                    assertThat(index).contains("](" + docs.relativize(page) + ")");
                    assertThat(site).contains(": docs/" + docs.relativize(page) + "\n");
                });
    }

    @ParameterizedTest
    @MethodSource("io.hvd.examples.pages.Pages#all")
    void linksLeadToFilesAndHeadings(Path page) {
        List<String> broken = LINK.matcher(withoutFences(Pages.read(page)))
                .results()
                .filter(found -> !leadsSomewhere(page, found.group(1), found.group(2)))
                .map(MatchResult::group)
                .toList();

        assertThat(broken).isEmpty();
    }

    private static boolean leadsSomewhere(Path page, String file, String heading) {
        Path target = file.isEmpty() ? page : page.resolveSibling(file);
        return Files.exists(target) && (heading == null || headings(target).contains(heading));
    }

    /** The anchors that Markdown's readers make of headings. */
    private static List<String> headings(Path page) {
        return withoutFences(Pages.read(page))
                .lines()
                .filter(line -> line.startsWith("#"))
                .map(line -> line.replaceFirst("#+ ", "").toLowerCase(Locale.ROOT))
                .map(line -> line.replaceAll("[^a-z0-9 _-]", "").replace(' ', '-'))
                .toList();
    }

    private static String withoutFences(String page) {
        return page.replaceAll("(?ms)^```.*?^```$", "");
    }

    private static String withoutIndentation(String text) {
        return text.lines().map(String::strip).collect(Collectors.joining("\n"));
    }
}
