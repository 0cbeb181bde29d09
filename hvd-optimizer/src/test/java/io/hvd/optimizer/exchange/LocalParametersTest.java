package io.hvd.optimizer.exchange;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.Sgd;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import java.util.ArrayList;
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

    private static ArrayParameters shared() {
        return new ArrayParameters()
                .add("fc.weight", new float[2], new float[2])
                .add("fc.bias", new float[1], new float[1]);
    }

    @Test
    void theirNamesAndTheirNumberMayDifferBetweenTheRanks() {
        Hvd.spawn(3, hvd -> {
            float[] gradient = {hvd.rank()};
            var parameters = new ArrayParameters();
            List<String> names = new ArrayList<>();
            for (int part = 0; part < hvd.rank(); part++) {
                names.add("part " + hvd.rank() + "." + part);
                parameters.add(names.get(part), new float[2], new float[2]);
            }
            parameters.add("fc.weight", new float[1], gradient);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 1))
                    .localParameters(names)
                    .compareParametersEvery(1)
                    .build();
            optimizer.broadcastParameters(0);
            optimizer.step();
            assertThat(gradient).containsExactly(1);
            optimizer.step();
            return null;
        });
    }

    /** Otherwise one rank would wait for a gradient that the other keeps to itself. */
    @Test
    void aParameterThatIsLocalOnSomeRanksOnlyIsRefusedInTheFirstStep() {
        for (String scope : new String[] {"", "own"}) {
            Hvd.spawn(2, hvd -> {
                DistributedOptimizerBuilder builder =
                        DistributedOptimizer.wrap(new Sgd(shared().add("embedding", new float[3], new float[3]), 1));
                if (hvd.rank() == 0) {
                    builder.localParameters(List.of("embedding"));
                }
                if (!scope.isEmpty()) {
                    builder.scope(scope);
                }
                assertThatThrownBy(builder.build()::step)
                        .hasMessageContainingAll(
                                "HVD-403",
                                "\"parameters that are not local\" is 2 with names of",
                                "on ranks [0] and 3 with names of");
                return null;
            });
        }
    }

    @Test
    void localGradientsThatOneRankScalesAreRefusedInTheFirstStep() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            new Sgd(shared().add("embedding", new float[3], new float[3]), 1))
                    .localParameters(List.of("embedding"))
                    .scaleLocalGradients(hvd.rank() == 0)
                    .build();
            assertThatThrownBy(optimizer::step)
                    .hasMessageContaining("\"local gradients\" is not scaled on ranks [1] and scaled on ranks [0]");
            return null;
        });
    }

    /** The average of the shared gradients is 2, the local ones are 1 and 2: all of the model's have the norm 3. */
    @Test
    void theNormThatIsClippedIsThatOfTheSharedAndAllLocalGradients() {
        for (boolean amp : new boolean[] {false, true}) {
            Hvd.spawn(2, hvd -> {
                float[] value = new float[1];
                float[] ownValue = new float[1];
                float[] gradient = {4 * hvd.rank()};
                float[] own = {1 + hvd.rank()};
                DistributedOptimizerBuilder builder = DistributedOptimizer.wrap(new Sgd(
                                new ArrayParameters().add("own", ownValue, own).add("fc", value, gradient), 1))
                        .localParameters(List.of("own"))
                        .scaleLocalGradients(false);
                double norm;
                if (amp) {
                    AmpOptimizer mixed = AmpOptimizer.wrap(builder.build())
                            .clipGradientNorm(1.5)
                            .build();
                    mixed.backward(scale -> {
                        gradient[0] *= (float) scale;
                        own[0] *= (float) scale;
                    });
                    mixed.step();
                    norm = mixed.lastGradientNorm();
                } else {
                    DistributedOptimizer optimizer =
                            builder.clipGradientNorm(1.5).build();
                    optimizer.step();
                    norm = optimizer.lastGradientNorm();
                }

                assertThat(norm).isEqualTo(3);
                assertThat(value[0]).isCloseTo(-1, within(1e-5f));
                assertThat(ownValue[0]).isCloseTo(-(1 + hvd.rank()) / 2f, within(1e-5f));
                return null;
            });
        }
    }

    @Test
    void theStateOfLocalParametersIsNotOverwrittenByAnotherRanks() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(
                            shared().add("embedding", new float[1 + hvd.rank()], new float[1 + hvd.rank()]), 1, 0.9, 0))
                    .localParameters(List.of("embedding"))
                    .build();
            optimizer.step();
            assertThatThrownBy(() -> optimizer.broadcastOptimizerState(0))
                    .hasMessageContainingAll(
                            "HVD-401", "broadcastOptimizerState(...)", "localParameters(...) [embedding]");
            assertThatThrownBy(() -> optimizer.join(JoinDivisor.ACTIVE))
                    .hasMessageContainingAll("HVD-401", "join(...)", "localParameters(...) [embedding]");
            optimizer.step();
            return null;
        });
    }

    /** As in Horovod. */
    @Test
    void localGradientsAreDividedByTheNumberOfRanksAlsoBesideSums() {
        Hvd.spawn(2, hvd -> {
            float[] own = {8};
            float[] gradient = {3};
            DistributedOptimizer.wrap(new Sgd(
                            new ArrayParameters().add("own", new float[1], own).add("fc", new float[1], gradient), 1))
                    .localParameters(List.of("own"))
                    .op(ReduceOp.SUM)
                    .build()
                    .step();
            assertThat(gradient).containsExactly(6);
            assertThat(own).containsExactly(4);
            return null;
        });
    }
}
