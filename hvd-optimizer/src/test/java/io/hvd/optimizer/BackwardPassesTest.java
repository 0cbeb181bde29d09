package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Several backward passes per step: gradients are combined on the rank before they travel. */
@Timeout(60)
class BackwardPassesTest {
    private final float[] unused = new float[1];

    @ParameterizedTest
    @CsvSource({"SUM, 4", "MEAN, 2"})
    void gradientsOfTwoPassesAreCombinedAsChosen(LocalReduction reduction, float expected) {
        Hvd.spawn(2, hvd -> {
            float[] gradient = new float[1];
            DistributedOptimizer optimizer = twoPasses(gradient, reduction, hvd);

            pass(optimizer, gradient, 1);
            assertThat(gradient[0]).as("nothing travels after the first pass").isEqualTo(1);
            pass(optimizer, gradient, 3);
            optimizer.synchronize();

            assertThat(gradient[0]).isEqualTo(expected);
            return null;
        });
    }

    @ParameterizedTest
    @CsvSource({"SUM, 44", "MEAN, 22"})
    void theRanksShareInTheAverageOfTheirCombinedGradients(LocalReduction reduction, float expected) {
        Hvd.spawn(2, hvd -> {
            float[] gradient = new float[1];
            DistributedOptimizer optimizer = twoPasses(gradient, reduction, hvd);

            pass(optimizer, gradient, 1 + 20 * hvd.rank());
            pass(optimizer, gradient, 3 + 60 * hvd.rank());
            optimizer.synchronize();

            assertThat(gradient[0]).isEqualTo(expected);
            return null;
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void aPassTooManyNamesTheParameterAndBothNumbers(int allowed) {
        Hvd.spawn(2, hvd -> {
            float[] gradient = new float[1];
            DistributedOptimizer optimizer =
                    builder(gradient, hvd).backwardPassesPerStep(allowed).build();
            for (int i = 0; i < allowed; i++) {
                optimizer.gradientReady("layer.weight");
            }

            assertThatThrownBy(() -> optimizer.gradientReady("layer.weight"))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                    .hasMessageContaining("\"layer.weight\"")
                    .hasMessageContaining("pass " + (allowed + 1))
                    .hasMessageContaining("allowed are " + allowed);

            optimizer.synchronize();
            optimizer.zeroGradients();
            gradient[0] = hvd.rank();
            for (int i = 0; i < allowed; i++) {
                optimizer.gradientReady("layer.weight");
            }
            optimizer.synchronize();
            assertThat(gradient[0]).as("the next step is as any other").isEqualTo(0.5f);
            return null;
        });
    }

    @Test
    void fewerPassesThanPlannedStillTravelWithTheStep() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = new float[1];
            DistributedOptimizer optimizer = twoPasses(gradient, LocalReduction.SUM, hvd);

            pass(optimizer, gradient, 10 * hvd.rank());
            optimizer.synchronize();

            assertThat(gradient[0]).isEqualTo(5);
            return null;
        });
    }

    @Test
    void theNumberOfPassesCanBeChangedBetweenSteps() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = new float[1];
            DistributedOptimizer optimizer = builder(gradient, hvd).build();
            pass(optimizer, gradient, 1);
            assertThatThrownBy(() -> optimizer.backwardPassesPerStep(3))
                    .hasMessageContaining("backwardPassesPerStep(3)")
                    .hasMessageContaining("step()");
            optimizer.step();
            assertThatThrownBy(() -> optimizer.backwardPassesPerStep(0)).hasMessageContaining("0");

            optimizer.backwardPassesPerStep(3);
            optimizer.zeroGradients();
            for (int i = 1; i <= 3; i++) {
                pass(optimizer, gradient, i + hvd.rank());
            }
            optimizer.synchronize();

            assertThat(gradient[0]).as("ranks 6 and 9").isEqualTo(7.5f);
            return null;
        });
    }

    @Test
    void zeroingGradientsBeforeAnythingTravelsStartsThePassesAgain() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = new float[1];
            DistributedOptimizer optimizer = twoPasses(gradient, LocalReduction.SUM, hvd);

            pass(optimizer, gradient, 1000);
            optimizer.zeroGradients();
            pass(optimizer, gradient, 1);
            pass(optimizer, gradient, 3 + hvd.rank());
            optimizer.synchronize();

            assertThat(gradient[0]).isEqualTo(4.5f);
            return null;
        });
    }

    @Test
    void aMeanOnOneRankIsNotCompressed() {
        Hvd.spawn(1, hvd -> {
            float[] gradient = new float[1];
            DistributedOptimizer optimizer = builder(gradient, hvd)
                    .backwardPassesPerStep(2)
                    .localReduction(LocalReduction.MEAN)
                    .compression(Compression.FP16)
                    .build();

            pass(optimizer, gradient, 1.0001f);
            pass(optimizer, gradient, 100_000);
            optimizer.synchronize();

            assertThat(gradient[0]).isEqualTo((1.0001f + 100_000) / 2);
            return null;
        });
    }

    private static void pass(DistributedOptimizer optimizer, float[] gradient, float value) {
        gradient[0] += value;
        optimizer.gradientReady("layer.weight");
    }

    private DistributedOptimizer twoPasses(float[] gradient, LocalReduction reduction, HvdContext hvd) {
        return builder(gradient, hvd)
                .backwardPassesPerStep(2)
                .localReduction(reduction)
                .build();
    }

    private DistributedOptimizerBuilder builder(float[] gradient, HvdContext hvd) {
        var parameters = new ArrayParameters().add("layer.weight", unused.clone(), gradient);
        return DistributedOptimizer.wrap(new Sgd(parameters, 0)).context(hvd);
    }

    /** As the last step of an epoch, which has fewer passes than the others: rank 0 has one and rank 1 two of four. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aMeanIsOverThePassesThatWereMade(boolean reduced) {
        Hvd.spawn(2, hvd -> {
            float[] gradient = new float[1];
            DistributedOptimizerBuilder builder =
                    builder(gradient, hvd).backwardPassesPerStep(4).localReduction(LocalReduction.MEAN);
            if (reduced) {
                builder.reducer(bucket -> bucket.average(bucket.byName()).thenApply(done -> bucket));
            }
            DistributedOptimizer optimizer = builder.build();
            for (int made : new int[] {1 + hvd.rank(), 4, 1 + hvd.rank()}) {
                optimizer.zeroGradients();
                for (int i = 0; i < made; i++) {
                    pass(optimizer, gradient, 8 + 8 * hvd.rank());
                }
                optimizer.synchronize();
                assertThat(gradient[0]).as(made + " passes").isEqualTo(12);
                try (var skip = optimizer.skipSynchronize()) {
                    optimizer.step();
                }
            }
            return null;
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aMeanCountsThePassesInsideNoSyncToo(int ranks) {
        Hvd.spawn(ranks, hvd -> {
            float[] gradient = new float[1];
            DistributedOptimizer optimizer =
                    builder(gradient, hvd).localReduction(LocalReduction.MEAN).build();
            optimizer.zeroGradients();
            for (int scope = 0; scope < 2; scope++) {
                try (var local = optimizer.noSync()) {
                    pass(optimizer, gradient, 1);
                }
            }
            try (var local = optimizer.noSync()) {
                pass(optimizer, gradient, 2);
                pass(optimizer, gradient, 2);
            }
            pass(optimizer, gradient, 4);
            optimizer.synchronize();
            assertThat(gradient[0]).isEqualTo(2);
            return null;
        });
    }

    /** A parameter that one of two passes does not reach has zeros in it, as in one larger batch. */
    @Test
    void aMeanIsOverThePassesOfTheStepAndNotOfEachParameter() {
        Hvd.spawn(2, hvd -> {
            float[] always = new float[1];
            float[] once = new float[1];
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(
                            new ArrayParameters()
                                    .add("always", new float[1], always)
                                    .add("once", new float[1], once),
                            1))
                    .context(hvd)
                    .backwardPassesPerStep(4)
                    .localReduction(LocalReduction.MEAN)
                    .build();
            optimizer.zeroGradients();
            always[0] = 2;
            once[0] = 2;
            optimizer.gradientReady("always");
            optimizer.gradientReady("once");
            always[0] += 4;
            optimizer.gradientReady("always");
            optimizer.synchronize();
            assertThat(new float[] {always[0], once[0]}).containsExactly(3, 1);
            return null;
        });
    }

    @Test
    void gradientsThatAreNotAnnouncedAreTheSumOfThePlannedPasses() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = {8};
            DistributedOptimizer optimizer = twoPasses(gradient, LocalReduction.MEAN, hvd);
            optimizer.synchronize();
            assertThat(gradient[0]).isEqualTo(4);
            return null;
        });
    }
}
