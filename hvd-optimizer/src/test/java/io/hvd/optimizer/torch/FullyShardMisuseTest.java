package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.tensor.Tensor;
import io.hvd.train.BroadcastState;
import io.hvd.train.TrainingLoop;
import java.util.List;
import java.util.SortedMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a {@link FullyShard} refuses, and in which words. */
@Timeout(120)
class FullyShardMisuseTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private static AbstractThrowableAssert<?, ? extends Throwable> assertRefused(ErrorId id, ThrowingCallable call) {
        return assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(id));
    }

    private static FullyShard over(io.hvd.ProcessSet set) {
        return FullyShard.over(set, FullyShardOptions.zero3());
    }

    @Test
    void aParameterInTwoUnitsIsRefusedByBothNames() throws Exception {
        Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(1);
            try (FullyShard shard = over(hvd).unit("dense1", net.dense1)) {
                assertRefused(ErrorId.OPTIMIZER_MISUSE, () -> shard.unit("again", net.dense1))
                        .hasMessageContainingAll("[again.bias]", "\"again\"", "in unit \"dense1\" already");
                assertRefused(ErrorId.OPTIMIZER_MISUSE, () -> shard.unit("dense1", net.dense2))
                        .hasMessageContainingAll("unit(\"dense1\"", "a name of its own");
                assertRefused(ErrorId.OPTIMIZER_MISUSE, () -> shard.unit("root", net.dense2))
                        .hasMessageContaining("\"root\"");
            }
            return null;
        });
    }

    /** What is saved under the name of another tensor would be lost. */
    @Test
    void aBufferThatWouldBeSavedUnderTheNameOfAUnitsShardIsRefused() throws Exception {
        Hvd.spawn(2, hvd -> {
            Module all = new Module("all");
            all.register_buffer("flat_param", org.bytedeco.pytorch.Tensor.create(new float[] {1}));
            try (FullyShard shard = over(hvd).unit("buffer", new LinearImpl(4, 4))) {
                assertRefused(ErrorId.OPTIMIZER_MISUSE, () -> shard.root(all))
                        .hasMessageContainingAll(
                                "the buffer \"flat_param\"",
                                "the shards of unit \"buffer\"",
                                "would both be saved as \"buffer.flat_param\"",
                                "another name of the unit");
            }
            return null;
        });
    }

    /** A weight that two units use is neither's: the second one is refused, whoever registered it first. */
    @Test
    void weightsThatAreTiedAcrossUnitsBelongIntoTheRoot() throws Exception {
        Hvd.spawn(2, hvd -> {
            LinearImpl one = new LinearImpl(4, 4);
            Module other = new Module("tied");
            other.register_parameter("weight", one.weight(), true);
            try (FullyShard shard = over(hvd).unit("one", one)) {
                assertRefused(ErrorId.OPTIMIZER_MISUSE, () -> shard.unit("other", other))
                        .hasMessageContainingAll("[other.weight]", "tied weights", "root");
            }
            return null;
        });
    }

    @Test
    void ranksWithOtherUnitsOrShapesAreNamedBeforeAnythingIsShared() throws Exception {
        Hvd.spawn(3, hvd -> {
            boolean odd = hvd.rank() == 1;
            FullyShard shard = over(hvd);
            assertRefused(ErrorId.DIFFERENT_SETTINGS, () -> shard.unit("layer", new LinearImpl(4, odd ? 5 : 3)))
                    .hasMessageContainingAll("layer.weight", "[5, 4]", "[3, 4]", "1");
            assertRefused(ErrorId.DIFFERENT_SETTINGS, () -> shard.unit(odd ? "odd" : "even", new LinearImpl(4, 3)))
                    .hasMessageContainingAll("next unit", "odd", "even");
            assertRefused(
                            ErrorId.DIFFERENT_SETTINGS,
                            () -> FullyShard.over(hvd, odd ? FullyShardOptions.zero2() : FullyShardOptions.zero3()))
                    .hasMessageContaining("reshardAfterForward");
            return null;
        });
    }

    @Test
    void parametersOfSeveralTypesAreNoUnit() throws Exception {
        Hvd.spawn(1, hvd -> {
            Models.Net net = new Models.Net(1);
            net.dense2.to(ScalarType.Double, false);
            assertRefused(ErrorId.UNSUPPORTED, () -> over(hvd).unit("net", net))
                    .hasMessageContainingAll("net.dense2.bias", "Double", "Float", "net.dense1.bias");
            return null;
        });
    }

    @Test
    void backwardBesideItAndForwardAfterItsEndAreRefused() throws Exception {
        Hvd.spawn(2, hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Float, 1);
            FullyShard shard = model.sharded(over(hvd));
            try (PointerScope scope = new PointerScope()) {
                var loss = model.loss(0, 4);
                assertRefused(ErrorId.OPTIMIZER_MISUSE, () -> TorchOptimizer.backward(loss))
                        .hasMessageContaining("shard.backward(loss)");
                assertRefused(ErrorId.OPTIMIZER_MISUSE, () -> shard.forward("block9", x -> x, loss))
                        .hasMessageContainingAll("\"block9\"", "block0", "rank " + hvd.rank() + " of 2");
                assertRefused(
                                ErrorId.OPTIMIZER_MISUSE,
                                () -> shard.forward(
                                        "block0", () -> model.blocks.get(0).up.weight()))
                        .hasMessageContainingAll("block0", "returns a parameter");
                shard.close();
                assertRefused(ErrorId.OPTIMIZER_MISUSE, () -> model.loss(0, 4)).hasMessageContaining("is closed");
                assertRefused(ErrorId.OPTIMIZER_MISUSE, () -> shard.stateDict(0))
                        .hasMessageContaining("is closed");
                shard.close();
            }
            return null;
        });
    }

    @Test
    void optimizersThatNeedWholeLayersOrAverageAgainAreRefused() throws Exception {
        Hvd.spawn(1, hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Float, 1);
            try (FullyShard shard = model.sharded(over(hvd))) {
                assertRefused(ErrorId.UNSUPPORTED, () -> shard.optimizer(shards -> new TorchLamb(shards, 0.01)))
                        .hasMessageContainingAll("TorchLamb", "whole layers");
                assertRefused(
                                ErrorId.OPTIMIZER_MISUSE,
                                () -> shard.optimizer(shards -> new SGD(model.first.parameters(), Models.sgd(0.1))))
                        .hasMessageContainingAll("block0", "2 parameters");
                var optimizer = shard.optimizer(shards -> new SGD(shards, Models.sgd(0.1)));
                assertRefused(ErrorId.OPTIMIZER_MISUSE, () -> DistributedOptimizer.wrap(optimizer))
                        .hasMessageContaining("averages gradients over the ranks already");
                TrainingLoop loop = TrainingLoop.of(hvd, optimizer).with(new BroadcastState(0));
                assertRefused(ErrorId.BAD_ARGUMENT, () -> loop.run(1, List.of(0), 1, (batch, training) -> {}))
                        .hasMessageContainingAll("that of a FullyShard", "Leave BroadcastState out");
                assertRefused(ErrorId.OPTIMIZER_MISUSE, () -> shard.unit("late", new LinearImpl(2, 2)))
                        .hasMessageContaining("after optimizer(...)");
                assertRefused(ErrorId.BAD_ARGUMENT, () -> shard.clipGradNorm(0)).hasMessageContaining("above 0");
            }
            return null;
        });
    }

    @Test
    void gradientsThatAreNotFiniteAreRefusedOnAllRanksWithTheirUnit() throws Exception {
        Hvd.spawn(2, hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Float, 1);
            FullyShardOptions options = FullyShardOptions.zero3().refusingNonFinite(true);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, options));
                    PointerScope scope = new PointerScope()) {
                var optimizer = shard.optimizer(shards -> new SGD(shards, Models.sgd(0.1)));
                shard.backward(model.loss(0, 4).mul(new Scalar(hvd.rank() == 1 ? Double.NaN : 1)));
                SortedMap<String, Tensor> before = shard.shards();
                for (ThrowingCallable call : List.<ThrowingCallable>of(() -> shard.clipGradNorm(1), optimizer::step)) {
                    assertRefused(ErrorId.NON_FINITE, call)
                            .hasMessageContainingAll("block0", "shard of rank 0", "rank " + hvd.rank() + " of 2");
                }
                assertThat(shard.shards().get("flat_param").toFloatArray())
                        .containsExactly(before.get("flat_param").toFloatArray());
            }
            return null;
        });
    }

    @Test
    void aStateIsLoadedByTheRankThatSavedItAlone() throws Exception {
        AtomicReferenceArray<byte[]> states = new AtomicReferenceArray<>(2);
        Hvd.spawn(2, hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Float, 1);
            try (FullyShard shard = model.sharded(over(hvd));
                    PointerScope scope = new PointerScope()) {
                var optimizer = shard.optimizer(shards -> new SGD(shards, Models.sgd(0.1)));
                optimizer.loadState(optimizer.saveState());
                shard.backward(model.loss(0, 4));
                optimizer.step();
                states.set(hvd.rank(), optimizer.saveState());
                hvd.barrier();
                optimizer.learningRate(0.7);
                assertThat(optimizer.saveState()).isNotEqualTo(states.get(hvd.rank()));
                optimizer.loadState(states.get(hvd.rank()));
                assertThat(optimizer.learningRate()).isEqualTo(0.1);
                assertThat(optimizer.saveState()).isEqualTo(states.get(hvd.rank()));
                assertRefused(ErrorId.STATE_MISMATCH, () -> optimizer.loadState(states.get(1 - hvd.rank())))
                        .hasMessageContainingAll("rank 0 of 2", "rank 1 of 2");
                assertRefused(ErrorId.UNSUPPORTED, optimizer::wholeState)
                        .hasMessageContainingAll("rank " + hvd.rank() + " of 2", "FullyShard.shards()");
            }
            return null;
        });
    }

    @Test
    void shardsOfAnotherModelAreRefusedAndNothingIsChanged() throws Exception {
        Hvd.spawn(1, hvd -> {
            ResidualModel other = new ResidualModel(ScalarType.Float, 2, 7, 3, 12);
            ResidualModel model = ResidualModel.of(ScalarType.Float, 1);
            try (FullyShard others = other.sharded(over(hvd));
                    FullyShard shard = model.sharded(over(hvd))) {
                float[] before = shard.shards().get("flat_param").toFloatArray();
                assertRefused(ErrorId.STATE_MISMATCH, () -> shard.loadShards(1, rank -> others.shards()))
                        .hasMessageContainingAll("block2.flat_param.layout", "rank 0 of 1");
                SortedMap<String, Tensor> less = shard.shards();
                less.remove("block1.flat_param");
                assertRefused(ErrorId.STATE_MISMATCH, () -> shard.loadShards(1, rank -> less))
                        .hasMessageContainingAll("\"block1.flat_param\" of rank 0 of 1 is missing", "float32");
                assertThat(shard.shards().get("flat_param").toFloatArray()).containsExactly(before);
            }
            return null;
        });
    }

    @Test
    void shardsOfSeveralStepsAndOfNoRankAreRefusedAndNothingIsChanged() throws Exception {
        AtomicReferenceArray<SortedMap<String, Tensor>> saved = new AtomicReferenceArray<>(2);
        Hvd.spawn(2, hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Float, 1);
            try (FullyShard shard = model.sharded(over(hvd));
                    PointerScope scope = new PointerScope()) {
                var optimizer = shard.optimizer(FullyShardRuns.ADAMW);
                for (int step = 1; step <= 2; step++) {
                    shard.backward(model.loss(0, 4));
                    optimizer.step();
                    if (step == 1 || hvd.rank() == 1) {
                        saved.set(hvd.rank(), shard.shards());
                    }
                }
            }
            return null;
        });
        Hvd.spawn(1, hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Float, 2);
            try (FullyShard shard = model.sharded(over(hvd))) {
                shard.optimizer(FullyShardRuns.ADAMW);
                float[] before = shard.shards().get("flat_param").toFloatArray();
                assertRefused(ErrorId.STATE_MISMATCH, () -> shard.loadShards(2, saved::get))
                        .hasMessageContainingAll("block0.flat_param.moment.step", "rank 1 is 2", "expected 1");
                assertRefused(ErrorId.BAD_ARGUMENT, () -> shard.loadShards(0, saved::get))
                        .hasMessageContainingAll("loadShards(0", "at least 1");
                SortedMap<String, Tensor> odd = saved.get(0);
                SortedMap<String, Tensor> other = saved.get(1);
                for (var shards : List.of(odd, other)) {
                    shards.keySet().removeIf(name -> name.endsWith(".moment.step") || name.endsWith(".exp_avg"));
                }
                assertRefused(ErrorId.STATE_MISMATCH, () -> shard.loadShards(2, saved::get));
                assertThat(shard.shards().get("flat_param").toFloatArray()).containsExactly(before);
            }
            return null;
        });
    }

    @Test
    void aRootWithoutAStateIsNamedOnAllRanks() throws Exception {
        Hvd.spawn(2, hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Float, 1);
            try (FullyShard shard = model.sharded(over(hvd))) {
                assertRefused(ErrorId.STATE_MISMATCH, () -> shard.loadStateDict(null, 1))
                        .hasMessageContainingAll("the state on rank 1", "is null");
            }
            return null;
        });
    }

    @Test
    void anOptimizerWhoseShardsAreFreedSaysSo() throws Exception {
        Hvd.spawn(1, hvd -> {
            FullyShard shard = ResidualModel.of(ScalarType.Float, 1).sharded(over(hvd));
            var optimizer = shard.optimizer(FullyShardRuns.ADAMW);
            shard.close();
            for (ThrowingCallable call : List.<ThrowingCallable>of(
                    optimizer::parameters,
                    optimizer::learningRate,
                    () -> optimizer.learningRate(1),
                    optimizer::settings)) {
                assertRefused(ErrorId.OPTIMIZER_MISUSE, call).hasMessageContaining("is closed");
            }
            return null;
        });
    }

    /** A rank that ends in the middle of forward ends the others, which wait for it in the next unit. */
    @Test
    void aRankThatFailsInAUnitEndsTheOthers() {
        assertThatThrownBy(() -> Hvd.spawn(3, hvd -> {
                    ResidualModel model = ResidualModel.of(ScalarType.Float, 1);
                    FullyShard shard = model.sharded(over(hvd));
                    shard.forward(() -> shard.forward(
                            "block1",
                            () -> shard.forward(
                                    "block0",
                                    x -> {
                                        if (hvd.rank() == 2) {
                                            throw new IllegalStateException("bad sample");
                                        }
                                        return model.blocks.get(0).forward(x);
                                    },
                                    model.first.forward(Models.inputs(0, 2)))));
                    shard.backward(model.loss(0, 4));
                    return null;
                }))
                .hasMessageContainingAll("rank 2 failed", "bad sample");
    }
}
