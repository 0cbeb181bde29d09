package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.tensor.ReduceOp;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Parameters that each rank keeps to itself, parameters without names, and what is refused of both. */
@Timeout(60)
class LocalParametersTest {
    /** The embedding's part of rank r has r + 1 rows. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theirGradientsStayOnTheRankAndTheirValuesAreNeitherBroadcastNorCompared(boolean scaled) {
        Hvd.spawn(2, hvd -> {
            float[] shared = {10 + hvd.rank()};
            float[] own = new float[1 + hvd.rank()];
            own[0] = hvd.rank();
            float[] sharedGradient = new float[1];
            float[] ownGradient = new float[own.length];
            var parameters =
                    new ArrayParameters().add("embedding", own, ownGradient).add("fc", shared, sharedGradient);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 1))
                    .localParameters(List.of("embedding"))
                    .scaleLocalGradients(scaled)
                    .compareParametersEvery(1)
                    .build();
            optimizer.broadcastParameters(0);
            assertThat(shared).containsExactly(10);
            assertThat(own[0]).isEqualTo(hvd.rank());
            for (int step = 0; step < 3; step++) {
                sharedGradient[0] = hvd.rank();
                ownGradient[0] = 8;
                if (step > 0) {
                    optimizer.gradientReady("embedding");
                }
                optimizer.step();
            }

            assertThat(shared).containsExactly(10 - 3 * 0.5f);
            assertThat(own[0]).isEqualTo(hvd.rank() - 3 * (scaled ? 4f : 8f));
            return null;
        });
    }

    @Test
    void withWeightsALocalGradientIsTheRanksPartOfTheAverageOrTheMeanOfItsPasses() {
        for (boolean scaled : new boolean[] {true, false}) {
            Hvd.spawn(2, hvd -> {
                float[] own = {0};
                float[] gradient = {0};
                DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(
                                new ArrayParameters().add("own", own, gradient).add("fc", new float[1], new float[1]),
                                1))
                        .localParameters(List.of("own"))
                        .scaleLocalGradients(scaled)
                        .weightByBatchSize()
                        .backwardPassesPerStep(2)
                        .build();
                optimizer.batchSize(1);
                gradient[0] += 10;
                optimizer.gradientReady("own");
                optimizer.batchSize(3);
                gradient[0] += 30;
                optimizer.gradientReady("own");
                optimizer.step();

                assertThat(own[0]).isEqualTo(scaled ? -100f / 8 : -100f / 4);
                return null;
            });
        }
    }

    @Test
    void parametersWithoutNamesAreNamedByTheirPlaceIfNoneHasOne() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = {2 * hvd.rank()};
            var parameters =
                    new ArrayParameters().add(new float[3], new float[3]).add(new float[1], gradient);
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(new Sgd(parameters, 1)).build();
            assertThat(optimizer.parameters())
                    .extracting(Parameter::name)
                    .containsExactly("allreduce.noname.0.0", "allreduce.noname.0.1");
            optimizer.step();
            assertThat(gradient).containsExactly(1);

            var some =
                    new ArrayParameters().add("w", new float[1], new float[1]).add(new float[2], new float[2]);
            assertThatThrownBy(() -> DistributedOptimizer.wrap(new Sgd(some, 1)).build())
                    .hasMessageContainingAll("HVD-401", "parameter 1", "no name", "Name all or none");
            return null;
        });
    }

    @Test
    void namesThatDoNotExistAndOptimizersThatShareEveryParameterAreRefused() {
        Hvd.spawn(2, hvd -> {
            var parameters = new ArrayParameters().add("w", new float[1], new float[1]);
            assertThatThrownBy(() -> DistributedOptimizer.wrap(new Sgd(parameters, 1))
                            .localParameters(List.of("w", "v"))
                            .build())
                    .hasMessageContainingAll("HVD-401", "localParameters(...) names [v]", "\"w\" the first");
            assertThatThrownBy(() -> DistributedOptimizer.wrap(new Sgd(parameters, 1))
                            .localParameters(List.of("w"))
                            .op(ReduceOp.ADASUM)
                            .build())
                    .hasMessageContainingAll("HVD-401", "localParameters([w])", "ADASUM");
            assertThatThrownBy(() -> DistributedOptimizer.wrap(
                                    ShardedOptimizer.ofArrays(hvd, parameters, share -> new Sgd(share, 1)))
                            .localParameters(List.of("w"))
                            .build())
                    .hasMessageContainingAll("HVD-401", "localParameters([w])", "ShardedOptimizer");
            return null;
        });
    }
}
