package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.Tensor;
import io.hvd.testing.Job;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Training on N ranks is training on one rank with N times the batch. */
class EquivalenceIT {
    private static final double TOLERANCE = 1e-5;
    private static final Map<String, String> ONE_THREAD = Map.of("HVD_THREADS_PER_RANK", "1");

    @TempDir
    private static Path folder;

    private static Map<TwentySteps.Kind, Map<String, Tensor>> oneRank;

    @BeforeAll
    static void trainOnOneRank() throws IOException {
        oneRank = train(1);
    }

    @Test
    @Tag("long")
    void fourRanksWithAQuarterOfTheBatchEachEndWithTheWeightsOfOneRankWithAllOfIt() throws IOException {
        requireWeightsOfOneRank(4);
    }

    @Test
    void twoRanksWithHalfOfTheBatchEachEndWithTheWeightsOfOneRankWithAllOfIt() throws IOException {
        requireWeightsOfOneRank(2);
    }

    private static void requireWeightsOfOneRank(int ranks) throws IOException {
        train(ranks).forEach((kind, weights) -> {
            Weights.assertSame(weights, oneRank.get(kind), TOLERANCE);
        });
    }

    private static Map<TwentySteps.Kind, Map<String, Tensor>> train(int ranks) throws IOException {
        Path here = Files.createDirectory(folder.resolve(String.valueOf(ranks)));
        Job job = Job.horovodrun(ranks, ONE_THREAD, TwentySteps.class, here.toString());
        assertThat(job.exitCode()).as(job.output()).isZero();
        Map<TwentySteps.Kind, Map<String, Tensor>> weights = new EnumMap<>(TwentySteps.Kind.class);
        for (TwentySteps.Kind kind : TwentySteps.Kind.values()) {
            weights.put(kind, Checkpoint.read(kind.weightsIn(here)).tensors());
            Weights.assertMoved(
                    weights.get(kind),
                    Checkpoint.read(kind.firstWeightsIn(here)).tensors());
        }
        return weights;
    }
}
