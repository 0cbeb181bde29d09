package io.hvd.examples.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** djl-mnist under horovodrun: losses are those of one rank with the whole batch, and of DJL without hvd. */
@Execution(ExecutionMode.CONCURRENT)
class DjlMnistIT {
    /** All batches have one size, since DJL's losses count each batch alike. */
    private static final String[] SHORT = {"--train-images", "512", "--test-images", "128", "--batch-size", "64"};

    private static final Pattern LOSS = Pattern.compile(" loss ([\\d.]+) test loss ([\\d.]+)");

    @TempDir
    Path folder;

    private static String horovodrun(int ranks, String... more) {
        List<String> args = new ArrayList<>(List.of(SHORT));
        args.addAll(List.of(more));
        Job job = Job.horovodrun(ranks, DjlMnist.class, args.toArray(String[]::new));
        assertThat(job.exitCode()).as(job.output()).isZero();
        return job.output();
    }

    private static String alone(String... more) {
        List<String> args = new ArrayList<>(List.of(SHORT));
        args.addAll(List.of(more));
        Job job =
                Job.run(Job.program(DjlMnist.class, args.toArray(String[]::new)), Map.of("HVD_THREADS_PER_RANK", "1"));
        assertThat(job.exitCode()).as(job.output()).isZero();
        return job.output();
    }

    /** Two of each epoch: in training and in the test. */
    private static List<Double> losses(String output) {
        List<Double> losses = new ArrayList<>();
        Matcher line = LOSS.matcher(output);
        while (line.find()) {
            losses.add(Double.valueOf(line.group(1)));
            losses.add(Double.valueOf(line.group(2)));
        }
        return losses;
    }

    private static void assertSame(List<Double> found, List<Double> expected) {
        assertThat(found).hasSameSizeAs(expected).isNotEmpty();
        for (int i = 0; i < found.size(); i++) {
            assertThat(found.get(i)).isCloseTo(expected.get(i), within(2e-3));
        }
    }

    @Test
    void twoRanksThatSaveAndGoOnHaveTheLossesOfDjlAlone() {
        List<Double> djl = losses(alone("--epochs", "2", "--alone"));
        String checkpoint = folder.resolve("checkpoint").toString();

        String firstEpoch = horovodrun(2, "--epochs", "1", "--checkpoint", checkpoint);
        List<Double> second = losses(horovodrun(2, "--epochs", "2", "--checkpoint", checkpoint));

        assertThat(firstEpoch).containsPattern("RESULT example=djl-mnist ranks=2 .* data=drawn");
        assertSame(losses(firstEpoch), djl.subList(0, 2));
        assertSame(second, djl.subList(2, 4));
        assertThat(djl.get(2)).as("it learns").isLessThan(djl.get(0));
    }

    @Test
    void threadsHaveTheLossesOfDjlAlone() {
        assertSame(losses(alone("--epochs", "1", "--threads", "2")), losses(alone("--epochs", "1", "--alone")));
    }

    @Test
    @Tag("long")
    void oneAndFourRanksHaveTheLossesOfDjlAlone() {
        List<Double> djl = losses(alone("--epochs", "2", "--alone"));

        assertSame(losses(horovodrun(1, "--epochs", "2")), djl);
        assertSame(losses(horovodrun(4, "--epochs", "2")), djl);
    }

    /** Each loads first, and so is found where the other one would be loaded. */
    @Test
    void theLibTorchThatComesSecondIsRefusedBeforeItIsLoaded() {
        assertThat(loading("djl").lines("REFUSED")).singleElement().asString().contains("libdjl_torch.so", "HVD-102");
        assertThat(loading("javacpp").lines("REFUSED"))
                .singleElement()
                .asString()
                .contains("libjnitorch.so", "HVD-102");
    }

    private static Job loading(String first) {
        List<String> program = new ArrayList<>(Job.program(TwoLibTorches.class, first));
        int classPath = program.indexOf("-cp") + 1;
        program.set(
                classPath,
                program.get(classPath) + ":" + Path.of("..", "target", "lib").toAbsolutePath() + "/*");
        return Job.run(program, Map.of());
    }
}
