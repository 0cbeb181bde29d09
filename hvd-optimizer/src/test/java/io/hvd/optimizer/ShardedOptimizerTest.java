package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** State of optimizers on plain arrays that is shared out to the ranks. */
@Timeout(60)
class ShardedOptimizerTest {
    private static final int[] LENGTHS = {7, 40, 3, 12, 5};

    static List<Arguments> optimizers() {
        return List.of(
                kind("Adam", parameters -> new Adam(parameters, 0.05)),
                kind("SGD with momentum", parameters -> new Sgd(parameters, 0.05, 0.9, 0.01)),
                kind("SGD with Nesterov's momentum", parameters -> Sgd.nesterov(parameters, 0.05, 0.9, 0.01)),
                kind("AdamW", parameters -> new AdamW(parameters, 0.05)),
                kind("RMSprop", parameters -> new RmsProp(parameters, 0.05, 0.99, 1e-8, 0.5, 0)),
                kind("Adagrad", parameters -> new Adagrad(parameters, 0.05)),
                kind("Adadelta", parameters -> new Adadelta(parameters, 1)),
                kind("LARS", parameters -> new Lars(parameters, 2)),
                kind("LAMB", parameters -> new Lamb(parameters, 0.05)),
                kind("SGD", parameters -> new Sgd(parameters, 0.05)));
    }

    private static Arguments kind(String name, Function<ArrayParameters, Optimizer> make) {
        return Arguments.of(Named.of(name, make));
    }

    /** Five arrays; the gradient depends on the rank, the step and the value. */
    private static final class Arrays5 {
        final float[][] values = new float[LENGTHS.length][];
        final float[][] gradients = new float[LENGTHS.length][];
        final ArrayParameters parameters = new ArrayParameters();

        Arrays5() {
            for (int i = 0; i < LENGTHS.length; i++) {
                values[i] = new float[LENGTHS[i]];
                gradients[i] = new float[LENGTHS[i]];
                for (int j = 0; j < LENGTHS[i]; j++) {
                    values[i][j] = i + j / 8f;
                }
                parameters.add("p" + i, values[i], gradients[i]);
            }
        }

        void steps(HvdContext hvd, Optimizer optimizer, int from, int to) {
            for (int step = from; step < to; step++) {
                optimizer.zeroGradients();
                for (int i = 0; i < LENGTHS.length; i++) {
                    for (int j = 0; j < LENGTHS[i]; j++) {
                        gradients[i][j] += (hvd.rank() + 1) * values[i][j] + step - i;
                    }
                }
                optimizer.step();
            }
        }
    }

    private static DistributedOptimizer wrapped(HvdContext hvd, Optimizer optimizer) {
        return DistributedOptimizer.wrap(optimizer)
                .context(hvd)
                .compareParametersEvery(1)
                .build();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void weightsAndConsolidatedStateAreThoseOfTheOptimizerThatIsNotSharded(Function<ArrayParameters, Optimizer> make) {
        for (int ranks : new int[] {1, 3, 7}) {
            Hvd.spawn(ranks, hvd -> {
                Arrays5 whole = new Arrays5();
                Arrays5 shared = new Arrays5();
                DistributedOptimizer plain = wrapped(hvd, make.apply(whole.parameters));
                ShardedOptimizer sharded = ShardedOptimizer.ofArrays(hvd, shared.parameters, make);
                DistributedOptimizer optimizer = wrapped(hvd, sharded);
                whole.steps(hvd, plain, 0, 4);
                shared.steps(hvd, optimizer, 0, 4);
                assertThat(shared.values).isDeepEqualTo(whole.values);

                sharded.consolidate(0);
                if (hvd.rank() == 0) {
                    assertThat(sharded.saveState()).isEqualTo(plain.saveState());
                }
                Arrays5 again = new Arrays5();
                DistributedOptimizer resumed = wrapped(hvd, ShardedOptimizer.ofArrays(hvd, again.parameters, make));
                for (int i = 0; i < LENGTHS.length; i++) {
                    System.arraycopy(shared.values[i], 0, again.values[i], 0, LENGTHS[i]);
                }
                if (hvd.rank() == 0) {
                    resumed.loadState(sharded.saveState());
                }
                resumed.broadcastOptimizerState(0);
                again.steps(hvd, resumed, 4, 6);
                whole.steps(hvd, plain, 4, 6);
                assertThat(again.values).isDeepEqualTo(whole.values);
                return null;
            });
        }
    }

    /** In both directions, and by a file as well as in memory. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void theWholeStateIsTensorsWithTheNamesOfAnOptimizerThatIsNotShardedAndEachTakesTheOthers(
            Function<ArrayParameters, Optimizer> make) {
        Hvd.spawn(3, hvd -> {
            Arrays5 whole = new Arrays5();
            Arrays5 shared = new Arrays5();
            DistributedOptimizer plain = wrapped(hvd, make.apply(whole.parameters));
            ShardedOptimizer sharded = ShardedOptimizer.ofArrays(hvd, shared.parameters, make);
            DistributedOptimizer optimizer = wrapped(hvd, sharded);
            whole.steps(hvd, plain, 0, 3);
            shared.steps(hvd, optimizer, 0, 3);
            sharded.consolidate(1);
            if (hvd.rank() == 1) {
                assertThat(bits(optimizer.wholeState())).isEqualTo(bits(plain.wholeState()));
                Optimizer alone = make.apply(new Arrays5().parameters);
                alone.loadNamedState(optimizer.wholeState());
                assertThat(alone.saveState()).isEqualTo(plain.saveState());
            } else {
                assertThatThrownBy(optimizer::wholeState).hasMessageContaining("consolidate(root)");
            }
            Arrays5 again = new Arrays5();
            DistributedOptimizer resumed = wrapped(hvd, ShardedOptimizer.ofArrays(hvd, again.parameters, make));
            for (int i = 0; i < LENGTHS.length; i++) {
                System.arraycopy(shared.values[i], 0, again.values[i], 0, LENGTHS[i]);
            }
            if (hvd.rank() == 2) {
                resumed.loadNamedState(plain.wholeState().copy());
            }
            resumed.broadcastOptimizerState(2);
            again.steps(hvd, resumed, 3, 5);
            whole.steps(hvd, plain, 3, 5);
            assertThat(again.values).isDeepEqualTo(whole.values);
            return null;
        });
    }

    private static Map<String, Object> bits(NamedState state) {
        Map<String, Object> all = new TreeMap<>(state.words());
        state.tensors().forEach((name, tensor) -> all.put(name, Arrays.toString(tensor.toFloatArray())));
        return all;
    }

    /** A whole in one array would need another one for each rank's bytes, and copies of both. */
    @Test
    void aConsolidationAllocatesTheOtherRanksShareAndNoArrayOfTheWhole() {
        int length = 1_000_000;
        Hvd.spawn(2, hvd -> {
            ArrayParameters parameters = new ArrayParameters()
                    .add("v", new float[length], new float[length])
                    .add("w", new float[length], new float[length]);
            ShardedOptimizer sharded = ShardedOptimizer.ofArrays(hvd, parameters, share -> new Adam(share, 0.01));
            sharded.step();
            sharded.consolidate(0); // which makes what hvd keeps for the next time
            long before = allocated();
            sharded.consolidate(0);
            long share = 2L * Float.BYTES * length;
            assertThat(allocated() - before).isLessThan(hvd.rank() == 0 ? 3 * share / 2 : share / 2);
            return null;
        });
    }

    /** Bytes that this thread has allocated in the heap. */
    private static long allocated() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }

    /** No other rank has a rank's share. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void aBroadcastOfTheStateAfterAStepLeavesEachRankItsShareAndGivesTheRootsRate(
            Function<ArrayParameters, Optimizer> make) {
        for (int ranks : new int[] {1, 3}) {
            Hvd.spawn(ranks, hvd -> {
                int root = ranks - 1;
                Arrays5 whole = new Arrays5();
                Arrays5 shared = new Arrays5();
                DistributedOptimizer plain = wrapped(hvd, make.apply(whole.parameters));
                ShardedOptimizer sharded = ShardedOptimizer.ofArrays(hvd, shared.parameters, make);
                DistributedOptimizer optimizer = wrapped(hvd, sharded);
                whole.steps(hvd, plain, 0, 2);
                shared.steps(hvd, optimizer, 0, 2);
                plain.learningRate(0.03);
                sharded.learningRate(hvd.rank() == root ? 0.03 : 0.5);
                optimizer.broadcastOptimizerState(root);
                for (int rank = 0; rank < ranks; rank++) {
                    sharded.consolidate(rank);
                    if (rank == hvd.rank()) {
                        assertThat(optimizer.saveState()).isEqualTo(plain.saveState());
                    }
                }
                whole.steps(hvd, plain, 2, 4);
                shared.steps(hvd, optimizer, 2, 4);
                assertThat(shared.values).isDeepEqualTo(whole.values);
                return null;
            });
        }
    }

    /** As of an optimizer on a GPU, whose gradients hvd cannot read. */
    private interface OwnArithmetic extends ShardedState, GradientArithmetic {}

    @Test
    void anArithmeticOfTheStateIsUsedForTheGradients() {
        Hvd.spawn(1, hvd -> {
            List<Double> factors = new ArrayList<>();
            List<Parameter> parameters = new Arrays5().parameters.list();
            ShardedShare share = (ShardedShare) Proxy.newProxyInstance(
                    getClass().getClassLoader(),
                    new Class<?>[] {ShardedShare.class},
                    (proxy, method, arguments) -> method.getName().equals("settings") ? Map.of() : null);
            OwnArithmetic state = (OwnArithmetic) Proxy.newProxyInstance(
                    getClass().getClassLoader(),
                    new Class<?>[] {OwnArithmetic.class},
                    (proxy, method, arguments) -> switch (method.getName()) {
                        case "parameters" -> parameters;
                        case "owners" -> new int[LENGTHS.length];
                        case "deal" -> share;
                        case "multiplyGradients" -> factors.add((Double) arguments[0]) ? -1 : 0;
                        case "gradientNorm" -> 4.0;
                        default -> null;
                    });
            AmpOptimizer amp = AmpOptimizer.wrap(wrapped(hvd, ShardedOptimizer.of(hvd, state)))
                    .clipGradientNorm(1)
                    .build();
            amp.backward(scale -> {});
            amp.step();
            assertThat(amp.lastGradientNorm()).isEqualTo(4);
            assertThat(factors).hasSize(2).first().isEqualTo(1 / 65536.0);
            return null;
        });
    }

    @Test
    void theLargestAreSharedOutFirstToWhoeverHasLeast() {
        assertThat(ShardedOptimizer.owners(3, 7, 40, 3, 12, 5)).containsExactly(2, 0, 1, 1, 2);
        assertThat(ShardedOptimizer.owners(3, 1, 1, 1, 1)).containsExactly(0, 1, 2, 0);
    }

    @Test
    void theBytesOfAllRanksTogetherAreThoseOfTheWholeState() {
        Hvd.spawn(3, hvd -> {
            Arrays5 shared = new Arrays5();
            ShardedOptimizer sharded =
                    ShardedOptimizer.ofArrays(hvd, shared.parameters, share -> new Adam(share, 0.01));
            assertThat(sharded.stateBytesOfRanks()).containsExactly(2 * 4 * 40, 2 * 4 * 15, 2 * 4 * 12);
            assertThat(sharded.stateBytes()).isEqualTo(sharded.stateBytesOfRanks()[hvd.rank()]);
            return null;
        });
    }

    @Test
    void aProcessSetSharesOutAmongItsMembersAndARankOutsideStepsAlone() {
        Hvd.spawn(3, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            var set = hvd.addProcessSet(List.of(1, 2));
            Arrays5 shared = new Arrays5();
            ShardedOptimizer sharded =
                    ShardedOptimizer.ofArrays(set, shared.parameters, share -> new Adam(share, 0.01));
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(sharded).processSet(set).build();
            shared.steps(hvd, optimizer, 0, 3);
            int all = Arrays.stream(LENGTHS).sum();
            assertThat(sharded.stateBytes()).isEqualTo(2 * 4L * (hvd.rank() == 0 ? all : hvd.rank() == 1 ? 40 : 27));
            assertThat(shared.values[0][0]).isNotEqualTo(new Arrays5().values[0][0]);
            return null;
        });
    }

    @Test
    void aStateAfterAStepMustBeConsolidatedAndOneOfAnotherModelIsRefused() {
        Hvd.spawn(2, hvd -> {
            Arrays5 shared = new Arrays5();
            ShardedOptimizer sharded =
                    ShardedOptimizer.ofArrays(hvd, shared.parameters, share -> new Adam(share, 0.01));
            assertThat(sharded.saveState())
                    .isEqualTo(new Adam(new Arrays5().parameters, 0.01).saveState())
                    .hasSizeGreaterThan(16 + 2 * 4 * 67);
            sharded.step();
            assertThatThrownBy(sharded::saveState)
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                    .hasMessageContainingAll("rank " + hvd.rank() + " of 2", "consolidate(root)");
            assertThatThrownBy(() -> sharded.loadState(new byte[20]))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                    .hasMessageContainingAll("20 bytes", "Adam over 5 parameters needs 552");
            return null;
        });
    }

    @Test
    void anOptimizerThatIsNotOverTheShareIsRefused() {
        Hvd.spawn(2, hvd -> {
            ArrayParameters all = new Arrays5().parameters;
            assertThatThrownBy(() -> ShardedOptimizer.ofArrays(hvd, all, share -> new Sgd(all, 0.1)))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("parameters that the function was given");
            return null;
        });
    }

    /** The two networks of a GAN have layers of the same names, and each is stepped by a thread of its own. */
    @Test
    void twoShardedOptimizersWithParametersOfTheSameNamesDoNotCollide() {
        Hvd.spawn(2, hvd -> {
            List<CompletableFuture<float[]>> both = new ArrayList<>();
            for (int length : new int[] {3, 50_000}) {
                float[] value = new float[length];
                float[] gradient = new float[length];
                Arrays.fill(gradient, 1);
                ArrayParameters parameters = new ArrayParameters().add("w", value, gradient);
                DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                                ShardedOptimizer.ofArrays(hvd, parameters, share -> new Sgd(share, 1)))
                        .context(hvd)
                        .scope("of " + length)
                        .build();
                both.add(CompletableFuture.supplyAsync(
                        () -> {
                            for (int step = 0; step < 50; step++) {
                                optimizer.step();
                            }
                            return value;
                        },
                        work -> new Thread(work).start()));
            }
            for (CompletableFuture<float[]> one : both) {
                assertThat(one.join()).containsOnly(-50);
            }
            return null;
        });
    }
}
