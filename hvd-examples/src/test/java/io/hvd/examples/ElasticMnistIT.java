package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.testing.Job;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Processes with LibTorch, of which one is killed in the middle of a step; the others end the training. */
class ElasticMnistIT {
    private static final int EPOCHS = 3;
    private static final int IMAGES = 6000;
    private static final int BATCH = 64;
    private static final int KILL_STEP = 40;
    /** Accuracy is a part of 1,000 test images, and the batches behind the loss are others. */
    private static final double TOLERANCE = 0.03;

    private static String[] flags(String... more) {
        return Stream.concat(Stream.of("elastic-mnist", "--epochs", String.valueOf(EPOCHS)), Stream.of(more))
                .toArray(String[]::new);
    }

    private static Map<String, String> result(Job job) {
        assertThat(job.exitCode()).as(job.output()).isZero();
        List<String> lines = job.lines("RESULT ");
        assertThat(lines).as(job.output()).hasSize(1);
        return Stream.of(lines.get(0).replaceFirst(".*RESULT ", "").split(" "))
                .map(field -> field.split("=", 2))
                .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
    }

    @Test
    void aTrainingThatLosesARankEndsAsOneThatLosesNone() {
        Map<String, String> undisturbed = result(TrainJar.horovodrun(3, flags()));
        Job job = TrainJar.elastic(3, flags("--kill-rank", "1", "--kill-step", String.valueOf(KILL_STEP)));
        Map<String, String> found = result(job);

        assertThat(Double.parseDouble(found.get("accuracy")))
                .as(job.output())
                .isCloseTo(Double.parseDouble(undisturbed.get("accuracy")), within(TOLERANCE))
                .isGreaterThan(0.9);
        int kept = stepOfSecondGeneration(job);
        // Rank 1 has sent its gradients before it is killed, so the others may just have ended that step too.
        assertThat(kept).as(job.output()).isBetween(KILL_STEP - 1, KILL_STEP);
        assertThat(found).as(job.output()).containsEntry("generations", "2").containsEntry("ranks", "2");
        assertThat(found)
                .containsEntry("steps", String.valueOf(steps(kept)))
                .containsEntry("samples", String.valueOf(EPOCHS * IMAGES))
                .containsEntry("each_at_least", String.valueOf(EPOCHS))
                .containsEntry("each_at_most", String.valueOf(EPOCHS));
        assertThat(checksums(job))
                .as(job.output())
                .hasSize(2)
                .containsOnly(checksums(job).get(0));
    }

    /** Two of three ranks go on with the momentum of their shares. */
    @Test
    void aTrainingWhoseOptimizersStateIsSharedOutLosesTheLostRanksShareAlone() {
        Job job = TrainJar.elastic(
                3, flags("--sharded-optimizer", "--kill-rank", "1", "--kill-step", String.valueOf(KILL_STEP)));
        Map<String, String> found = result(job);

        assertThat(found).as(job.output()).containsEntry("generations", "2").containsEntry("each_at_most", "3");
        assertThat(Double.parseDouble(found.get("accuracy"))).as(job.output()).isGreaterThan(0.9);
        assertThat(job.lines("parameters was on lost ranks and begins anew"))
                .as(job.output())
                .hasSize(1)
                .allMatch(line -> line.matches(".*the optimizer's state of [1-7] of 8 parameters was on lost ranks.*"));
        assertThat(checksums(job))
                .as(job.output())
                .hasSize(2)
                .containsOnly(checksums(job).get(0));
    }

    private static List<String> checksums(Job job) {
        return job.lines("weights crc32").stream()
                .map(line -> line.replaceAll(".*crc32 ", ""))
                .toList();
    }

    /** No step is lost that a survivor has ended: the next generation goes on behind the last one of them. */
    private static int stepOfSecondGeneration(Job job) {
        int last = job.lines(" was abandoned: ").stream()
                .mapToInt(line -> Integer.parseInt(line.replaceFirst(".*step (\\d+) was abandoned.*", "$1")) - 1)
                .max()
                .orElseThrow(() -> new AssertionError(job.output()));
        List<String> lines = job.lines("generation 1: 2 ranks, step " + last);
        assertThat(lines).as(job.output()).hasSize(1);
        assertThat(lines.get(0))
                .matches(".*step \\d+(, " + 3 * BATCH + " samples of the abandoned step are drawn again)?");
        return last;
    }

    /** Those of three ranks up to the loss, and those in which two ranks see the rest. */
    private static int steps(int kept) {
        int perEpoch = ceiling(IMAGES, 3 * BATCH);
        assertThat(kept).as("it dies in the second epoch").isGreaterThan(perEpoch);
        int left = IMAGES - (kept - perEpoch) * 3 * BATCH;
        return kept + ceiling(left, 2 * BATCH) + (EPOCHS - 2) * ceiling(IMAGES, 2 * BATCH);
    }

    private static int ceiling(int number, int by) {
        return (number + by - 1) / by;
    }
}
