package com.example;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.hvd.Hvd;
import io.hvd.data.Dataset;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.Tensor;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RecipesTest {
    @TempDir
    Path folder;

    @Test
    void fourPassesOnTwoRanksGiveOneStepByTheirMean() {
        Hvd.spawn(2, hvd -> {
            float[] weight = {10};
            float[] gradient = new float[1];
            var optimizer = Recipes.compressAndAccumulate(new Sgd(new ArrayParameters().add("w", weight, gradient), 1));

            for (int pass = 0; pass < 4; pass++) {
                gradient[0] += pass + 4 * hvd.rank(); // 0, 1, 2, 3 on rank 0 and 4, 5, 6, 7 on rank 1
                optimizer.gradientReady("w");
            }
            optimizer.step();

            assertArrayEquals(new float[] {10 - 3.5f}, weight);
            return null;
        });
    }

    /** Three samples on two ranks: the step is by the mean over samples, and not by that over ranks. */
    @Test
    void unevenDataCountBySample() {
        Hvd.spawn(2, hvd -> {
            float[] weight = {10};
            float[] gradient = new float[1];
            Recipes.trainOnUnevenData(
                    hvd,
                    Dataset.of(List.of(new float[] {1}, new float[] {4}, new float[] {10})),
                    new Sgd(new ArrayParameters().add("w", weight, gradient), 1),
                    batch -> batch.forEach(sample -> gradient[0] += sample[0] / batch.size()));

            assertArrayEquals(new float[] {10 - 5}, weight, 1e-5f);
            return null;
        });
    }

    @Test
    void twoRanksStepByTheMeanOfTheirGradientsHoweverTheseTravel() {
        Hvd.spawn(2, hvd -> {
            List<UnaryOperator<Optimizer>> recipes =
                    List.of(Recipes::compressSome, Recipes::compressMore, Recipes::reduce);
            for (var recipe : recipes) {
                float[] weight = {10, 20};
                float[] gradient = {hvd.rank(), 2};
                recipe.apply(new Sgd(new ArrayParameters().add("w", weight, gradient), 1)).step();
                assertArrayEquals(new float[] {9.5f, 18}, weight);
            }
            return null;
        });
    }

    @Test
    void everyRankHasWhatRankZeroHasAfterEachStep() {
        Hvd.spawn(3, hvd -> {
            float[] average = {0, 0};
            Recipes.sendInEveryStep(hvd, Map.of("average", Tensor.of(average)), 4, step -> {
                if (step > 0) {
                    assertArrayEquals(new float[] {10 * step - 10, step}, average);
                }
                average[0] = 10 * step + hvd.rank();
                average[1] = step + 1 - hvd.rank();
            });
            assertArrayEquals(new float[] {30, 4}, average);
            return null;
        });
    }

    @Test
    void aResumedTrainingHasTheWeightsTheRateAndTheEpochOnEveryRank() {
        Path file = folder.resolve("checkpoint");
        Hvd.spawn(2, hvd -> {
            float[] weight = {7};
            var optimizer = optimizer(weight, 0.25);
            Recipes.save(hvd, file, Map.of("w", Tensor.of(weight)), optimizer, 5);
            return null;
        });

        Hvd.spawn(3, hvd -> {
            float[] weight = {hvd.rank()};
            var optimizer = optimizer(weight, 1);

            assertEquals(5, Recipes.resume(hvd, file, Map.of("w", Tensor.of(weight)), optimizer));
            assertArrayEquals(new float[] {7}, weight);
            assertEquals(0.25, optimizer.learningRate());
            return null;
        });
    }

    private static DistributedOptimizer optimizer(float[] weight, double rate) {
        return DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", weight, new float[1]), rate))
                .build();
    }
}
