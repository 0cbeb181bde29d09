package io.hvd.examples.djl;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.commons.cli.Option;
import org.junit.jupiter.api.Test;

/** What docs/tutorials/djl.md says of versions, flags and code is what there is. */
class DjlPageTest {
    private static final Path ROOT = Path.of("..", "..");
    private static final Pattern JOB = Pattern.compile("djl\\.jar (.+)");
    private static final Pattern ROW_OF_FLAGS = Pattern.compile("(?m)^\\| (`--.+?) \\|");
    private static final Pattern FLAG = Pattern.compile("--([a-z-]+)");

    private static String read(String file) throws Exception {
        return Files.readString(ROOT.resolve(file));
    }

    @Test
    void theTableOfFlagsHasAllOfThem() throws Exception {
        Set<String> shown = ROW_OF_FLAGS
                .matcher(read("docs/tutorials/djl.md"))
                .results()
                .flatMap(row -> FLAG.matcher(row.group(1)).results())
                .map(flag -> flag.group(1))
                .collect(Collectors.toCollection(TreeSet::new));

        assertThat(MnistFlags.options().getOptions().stream()
                        .map(Option::getLongOpt)
                        .filter(name -> !name.equals("help")))
                .containsExactlyInAnyOrderElementsOf(shown);
    }

    @Test
    void theCommandLinesAreUnderstood() throws Exception {
        var jobs = JOB.matcher(read("docs/tutorials/djl.md")).results().toList();
        assertThat(jobs).hasSizeGreaterThan(2);
        for (var job : jobs) {
            assertThat(MnistFlags.from(job.group(1).split(" ")).epochs()).isPositive();
        }
    }

    @Test
    void theVersionsAreThoseOfTheBuild() throws Exception {
        String pom = read("pom.xml");
        String djl = pom.replaceAll("(?s).*<djl.version>(.+?)<.*", "$1");
        String torch = pom.replaceAll("(?s).*<djl-torch.version>(.+?)<.*", "$1");

        assertThat(read("docs/tutorials/djl.md"))
                .contains("`ai.djl.pytorch:pytorch-engine` | " + djl + " |")
                .contains("`ai.djl.pytorch:pytorch-jni` | " + torch + "-" + djl + " |")
                .contains("classifier `linux-x86_64` | " + torch + " |");
    }

    @Test
    void theLineThatMakesItDistributedIsThatOfTheExample() throws Exception {
        String example = read("hvd-examples/djl/src/main/java/io/hvd/examples/djl/MnistTraining.java");

        assertThat(read("docs/tutorials/djl.md"))
                .contains("= model.newTrainer(config);", "= DistributedTrainer.of(hvd, model, config);");
        assertThat(example).contains("model.newTrainer(config) : DistributedTrainer.of(hvd, model, config);");
    }
}
