package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Graphs of units of a {@link FullyShard} that are no plain chain, on two ranks, beside the gradients of the same layers whole. */
@Timeout(60)
class FullyShardGraphTest {
    private static final List<String> NAMES = List.of("a", "b", "c");
    private static final double RATE = 0.1;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    /** Three layers, and a second one that the first unit may call. */
    private static final class Layers {
        final List<LinearImpl> layers = new ArrayList<>();
        final LinearImpl branch = new LinearImpl(4, 4);
        final List<Module> units = new ArrayList<>();

        Layers() {
            for (String name : NAMES) {
                LinearImpl layer = new LinearImpl(4, 4);
                Module unit = new Module(name);
                unit.register_module("layer", layer);
                layers.add(layer);
                units.add(unit);
            }
            units.get(0).register_module("branch", branch);
            for (int i = 0; i < units.size(); i++) {
                Models.fill(units.get(i), i + 1);
            }
        }

        FullyShard sharded(HvdContext hvd, FullyShardOptions options) {
            FullyShard shard = FullyShard.over(hvd, options);
            for (int i = 0; i < units.size(); i++) {
                shard.unit(NAMES.get(i), units.get(i));
            }
            return shard;
        }
    }

    /** How a model calls its units: as they are, or through a FullyShard. */
    private interface Caller {
        Tensor call(int unit, Supplier<Tensor> body);
    }

    private interface Graph {
        Tensor output(Layers layers, Caller caller, int rank, Tensor x);
    }

    private static void assertGradientsOfTheWhole(Graph graph) throws Exception {
        Map<String, float[]> expected = expected(graph);
        for (FullyShardOptions options : FullyShardRuns.STAGES) {
            Hvd.spawn(2, hvd -> {
                Layers layers = new Layers();
                try (FullyShard shard = layers.sharded(hvd, options);
                        PointerScope scope = new PointerScope()) {
                    var optimizer = shard.optimizer(shards -> new SGD(shards, new SGDOptions(RATE)));
                    SortedMap<String, io.hvd.tensor.Tensor> initial = shard.stateDict(0);
                    for (int pass = 0; pass < 3; pass++) {
                        String what = "pass " + pass + ", " + options;
                        optimizer.zeroGradients();
                        shard.backward(
                                loss(graph, layers, (unit, body) -> shard.forward(NAMES.get(unit), body), hvd.rank()));
                        assertThat(shard.gatheredBytes()).as(what).isZero();
                        optimizer.step();
                        SortedMap<String, io.hvd.tensor.Tensor> after = shard.stateDict(0);
                        if (hvd.rank() == 0) {
                            assertThat(after.keySet()).isEqualTo(expected.keySet());
                            after.forEach((name, found) -> assertThat(found.toFloatArray())
                                    .as("%s, %s", name, what)
                                    .containsExactly(expected.get(name), within(1e-5f)));
                        }
                        shard.loadStateDict(initial, 0);
                    }
                }
                return null;
            });
        }
    }

    private static Tensor loss(Graph graph, Layers layers, Caller caller, int rank) {
        return graph.output(layers, caller, rank, torch.ones(2, 4)).square().mean();
    }

    /** The parameters of whole layers after a step with the average of both ranks' gradients. */
    private static Map<String, float[]> expected(Graph graph) {
        Map<String, float[]> expected = new TreeMap<>();
        try (PointerScope scope = new PointerScope()) {
            Layers layers = new Layers();
            for (int rank = 0; rank < 2; rank++) {
                loss(graph, layers, (unit, body) -> body.get(), rank).backward(); // adds up
            }
            for (int i = 0; i < NAMES.size(); i++) {
                String prefix = NAMES.get(i) + ".";
                TensorViews.references(layers.units.get(i).named_parameters()).forEach((name, parameter) -> {
                    float[] values = Models.floats(parameter.detach());
                    float[] sums = Models.floats(parameter.grad());
                    for (int k = 0; k < values.length; k++) {
                        values[k] -= (float) (RATE * sums[k] / 2);
                    }
                    expected.put(prefix + name, values);
                });
            }
        }
        return expected;
    }

    /** The branch is an expert that the second rank does not call. */
    @Test
    void aParameterThatOneRankDoesNotUseHoldsNobodyUp() throws Exception {
        assertGradientsOfTheWhole((layers, caller, rank, x) -> {
            Tensor c = caller.call(2, () -> layers.layers.get(2).forward(x));
            Tensor b = caller.call(1, () -> layers.layers.get(1).forward(c));
            return caller.call(0, () -> {
                Tensor a = layers.layers.get(0).forward(b);
                return rank == 0 ? layers.branch.forward(a) : a;
            });
        });
    }

    @Test
    void aUnitThatCallsAnotherOneIsThereForTheRestOfItsBackward() throws Exception {
        assertGradientsOfTheWhole((layers, caller, rank, x) -> {
            Tensor c = caller.call(2, () -> layers.layers.get(2).forward(x));
            return caller.call(0, () -> {
                Tensor first = layers.layers.get(0).forward(c).tanh();
                Tensor inner = caller.call(1, () -> layers.layers.get(1).forward(first));
                return layers.branch.forward(inner.tanh());
            });
        });
    }

    /** A layer that is dropped on one rank. */
    @Test
    void aUnitMayReturnItsInput() throws Exception {
        assertGradientsOfTheWhole((layers, caller, rank, x) -> {
            Tensor c = caller.call(2, () -> layers.layers.get(2).forward(x));
            Tensor b = caller.call(1, () -> rank == 0 ? c : layers.layers.get(1).forward(c));
            return caller.call(
                    0, () -> layers.branch.forward(layers.layers.get(0).forward(b)));
        });
    }

    @Test
    void whatFollowsMayChangeAnOutputInPlace() throws Exception {
        assertGradientsOfTheWhole((layers, caller, rank, x) -> {
            Tensor c = caller.call(2, () -> layers.layers.get(2).forward(x)).relu_();
            Tensor b = caller.call(1, () -> layers.layers.get(1).forward(c)).relu_();
            return caller.call(
                    0, () -> layers.branch.forward(layers.layers.get(0).forward(b)));
        });
    }

    /** The gradients that come after the average would be lost. */
    @Test
    void twoForwardsWithABackwardBetweenThemHaveNoBackwardInCommon() throws Exception {
        Hvd.spawn(2, hvd -> {
            Layers layers = new Layers();
            Graph graph = (all, caller, rank, x) -> {
                Tensor b = caller.call(1, () -> all.layers.get(1).forward(x));
                return caller.call(0, () -> all.layers.get(0).forward(b));
            };
            try (FullyShard shard = layers.sharded(hvd, FullyShardOptions.zero3());
                    PointerScope scope = new PointerScope()) {
                Caller caller = (unit, body) -> shard.forward(NAMES.get(unit), body);
                Tensor first = loss(graph, layers, caller, 0);
                Tensor second = loss(graph, layers, caller, 0);
                shard.backward(first);
                Tensor both = loss(graph, layers, caller, 0).add(second);
                assertThatThrownBy(() -> shard.backward(both))
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                        .hasMessageContainingAll("unit \"a\"", "once more");
            }
            return null;
        });
    }

    @Test
    void aParameterThatIsFrozenLaterIsNamed() throws Exception {
        Hvd.spawn(2, hvd -> {
            Layers layers = new Layers();
            try (FullyShard shard = layers.sharded(hvd, FullyShardOptions.zero3())) {
                layers.branch.bias().set_requires_grad(false);
                assertThatThrownBy(() -> shard.forward("a", layers.layers.get(0)::forward, torch.ones(2, 4)))
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                        .hasMessageContainingAll("[a.branch.bias]", "unit \"a\"", "requires_grad false, expected true");
            }
            return null;
        });
    }
}
