package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.BufferSync;
import io.hvd.optimizer.Closeness;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.tensor.Device;
import io.hvd.train.checkpoint.Checkpoints;
import io.hvd.train.checkpoint.Manifest;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.AdagradOptions;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroup;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.RMSpropOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A layer or a weight that a module registers under two names: LibTorch lists it twice, torch in Python once. */
@Timeout(120)
class TiedStateTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    /** What stands beside the layer "enc". */
    private enum Tie {
        NONE,
        LAYER,
        WEIGHT
    }

    private static final class Net extends Module {
        private final LinearImpl enc = register_module("enc", new LinearImpl(2, 2));
        private final Module decoder = new Module();
        private final Tie tie;

        Net(Tie tie) {
            this.tie = tie;
            if (tie == Tie.LAYER) {
                register_module("dec", enc);
            } else if (tie == Tie.WEIGHT) {
                register_module("dec", decoder);
                decoder.register_parameter("weight", enc.weight(), true);
            }
            try (NoGradGuard guard = new NoGradGuard()) {
                enc.weight().copy_(Tensor.create(new float[] {1, 2, 3, 4}, 2, 2));
                enc.bias().copy_(Models.tensor(5, 6));
            }
        }

        /** The layer counts as often as it is in the model. */
        Tensor loss() {
            Tensor y = enc.forward(Tensor.create(new float[] {1, -2}, 1, 2));
            return (tie == Tie.LAYER ? enc.forward(y) : y).square().sum();
        }
    }

    static List<Arguments> optimizers() {
        Function<TensorVector, Optimizer> plain = all -> new SGD(all, new SGDOptions(0.01));
        Function<TensorVector, Optimizer> sgd = all -> new SGD(all, Models.sgd(0.01));
        Function<TensorVector, Optimizer> adam = all -> new Adam(all, new AdamOptions(0.01));
        Function<TensorVector, Optimizer> adamW = all -> new AdamW(all, new AdamWOptions(0.01));
        Function<TensorVector, Optimizer> rms = all -> new RMSprop(all, new RMSpropOptions(0.01));
        Function<TensorVector, Optimizer> adagrad = all -> new Adagrad(all, new AdagradOptions(0.01));
        Function<TensorVector, Optimizer> lamb = all -> new TorchLamb(all, 0.01);
        Function<TensorVector, Optimizer> lars = all -> new TorchLars(all, 0.01);
        return List.of(
                Arguments.of(Named.of("plain SGD", plain)),
                Arguments.of(Named.of("SGD", sgd)),
                Arguments.of(Named.of("Adam", adam)),
                Arguments.of(Named.of("AdamW", adamW)),
                Arguments.of(Named.of("RMSprop", rms)),
                Arguments.of(Named.of("Adagrad", adagrad)),
                Arguments.of(Named.of("LAMB", lamb)),
                Arguments.of(Named.of("LARS", lars)));
    }

    /** As torch in Python does, whose {@code parameters()} lists a parameter once. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void aTiedWeightIsSteppedOnceInEachStep(Function<TensorVector, Optimizer> make) {
        Net plain = new Net(Tie.LAYER);
        Optimizer once = make.apply(new TensorVector(plain.enc.weight(), plain.enc.bias()));
        Net net = new Net(Tie.LAYER);
        TorchOptimizer optimizer = optimizer(net, make);
        for (int i = 0; i < 3; i++) {
            once.zero_grad();
            plain.loss().backward();
            once.step();
            step(net, optimizer);
        }
        assertThat(weights(net)).isEqualTo(weights(plain));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void theStateOfATiedModelComesBackAndGoesOn(Function<TensorVector, Optimizer> make) {
        for (Tie tie : Tie.values()) {
            Net net = new Net(tie);
            TorchOptimizer optimizer = optimizer(net, make);
            step(net, optimizer);
            step(net, optimizer);
            byte[] state = optimizer.saveState();

            Net resumed = new Net(tie);
            TorchOptimizer fresh = optimizer(resumed, make);
            fresh.loadState(state);
            StateDict.load(resumed, StateDict.of(net));
            assertThat(fresh.saveState()).as("%s", tie).isEqualTo(state);
            step(net, optimizer);
            step(resumed, fresh);
            assertThat(weights(resumed)).as("%s", tie).isEqualTo(weights(net));
        }
    }

    @Test
    void theStateOfATiedModelIsBroadcastAndSharedOut() {
        List<float[]> trained = Hvd.spawn(3, hvd -> {
            Net net = new Net(Tie.LAYER);
            ShardedOptimizer sharded = TorchOptimizer.sharded(
                    hvd, net.named_parameters(), share -> new Adam(share, new AdamOptions(0.01)));
            var optimizer = DistributedOptimizer.wrap(sharded).build();
            optimizer.broadcastParameters(0);
            for (int i = 0; i < 3; i++) {
                optimizer.zeroGradients();
                net.loss().backward();
                optimizer.step();
                optimizer.broadcastOptimizerState(i % 3);
            }
            return weights(net);
        });
        Net alone = new Net(Tie.LAYER);
        TorchOptimizer optimizer = optimizer(alone, all -> new Adam(all, new AdamOptions(0.01)));
        for (int i = 0; i < 3; i++) {
            step(alone, optimizer);
        }
        trained.forEach(weights -> Closeness.assertClose(weights, weights(alone), 1e-6));
    }

    /** Two parameters in the same memory: torch steps both, one after the other. */
    private static Net alias() {
        Net net = new Net(Tie.NONE);
        LinearImpl other = new LinearImpl(2, 2);
        net.register_module("other", other);
        other.weight().set_data(net.enc.weight());
        try (NoGradGuard guard = new NoGradGuard()) {
            other.bias().copy_(Models.tensor(7, 8));
        }
        return net;
    }

    private static Tensor aliasLoss(Net net, int sample) {
        Tensor x = Tensor.create(new float[] {1, sample}, 1, 2);
        Tensor weight = TensorViews.references(net.named_parameters()).get("other.weight");
        return torch.linear(net.enc.forward(x), weight).square().sum();
    }

    @Test
    void parametersInTheSameMemoryAreSteppedAsByLibTorchAlsoWhereTheStateIsSharedOut() {
        Net plain = alias();
        var adam = new Adam(plain.parameters(), new AdamOptions(0.01));
        for (int i = 0; i < 3; i++) {
            adam.zero_grad();
            aliasLoss(plain, i).backward();
            adam.step();
        }
        List<float[]> trained = Hvd.spawn(3, hvd -> {
            Net net = alias();
            var sharded = TorchOptimizer.sharded(
                    hvd, net.named_parameters(), share -> new Adam(share, new AdamOptions(0.01)));
            var optimizer = DistributedOptimizer.wrap(sharded).build();
            optimizer.broadcastParameters(0);
            for (int i = 0; i < 3; i++) {
                optimizer.zeroGradients();
                aliasLoss(net, i).backward();
                optimizer.step();
            }
            return weights(net);
        });
        trained.forEach(weights -> Closeness.assertClose(weights, weights(plain), 1e-6));
    }

    @Test
    void masterWeightsOfParametersInTheSameMemoryAreRefusedAndOfATiedLayerAreOne() {
        Net net = alias();
        assertThatThrownBy(() -> MasterWeights.of(net, torch.ScalarType.BFloat16))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED))
                .hasMessageContainingAll("\"enc.weight\"", "\"other.weight\"", "same memory");
        assertThat(net.enc.weight().scalar_type().intern()).isEqualTo(torch.ScalarType.Float);

        Net tied = new Net(Tie.LAYER);
        MasterWeights masters = MasterWeights.of(tied, torch.ScalarType.BFloat16);
        assertThat(masters.parameters().size()).isEqualTo(2);
        TorchOptimizer optimizer = new TorchOptimizer(new SGD(masters.parameters(), Models.sgd(0.01)), masters);
        assertThat(optimizer.parameters()).hasSize(2);
        byte[] state = optimizer.saveState();
        optimizer.loadState(state);
        assertThat(optimizer.saveState()).isEqualTo(state);
    }

    @Test
    void aTiedLayerIsCopiedToTheOtherDevicesAndItsGradientAddsUp() {
        Net plain = new Net(Tie.LAYER);
        Tensor batch = Tensor.create(new float[] {1, -2, 3, 4, 5, 6, 7, 8}, 4, 2);
        BiFunction<Net, Tensor, Tensor> forward = (net, x) -> net.enc.forward(net.enc.forward(x));
        forward.apply(plain, batch).square().sum().backward();
        try (var parallel = DataParallel.wrap(() -> new Net(Tie.LAYER), List.of(Device.CPU, Device.CPU))) {
            parallel.forward(forward, batch).square().sum().backward();
            Closeness.assertClose(
                    Models.floats(parallel.module().enc.weight().grad()),
                    Models.floats(plain.enc.weight().grad()),
                    1e-6);
        }
    }

    @Test
    void aTrainingOfATiedModelGoesOnFromItsCheckpoint(@TempDir Path folder) {
        List<float[]> whole = Hvd.spawn(2, hvd -> seriesSteps(hvd, folder.resolve("whole"), 4));
        Hvd.spawn(2, hvd -> seriesSteps(hvd, folder.resolve("halves"), 2));
        List<float[]> halves = Hvd.spawn(2, hvd -> seriesSteps(hvd, folder.resolve("halves"), 2));
        assertThat(halves.get(0)).isEqualTo(whole.get(0));
        assertThat(halves.get(1)).isEqualTo(whole.get(0));
    }

    private static float[] seriesSteps(HvdContext hvd, Path folder, int steps) throws IOException {
        Net net = new Net(Tie.LAYER);
        var optimizer = DistributedOptimizer.wrap(optimizer(net, all -> new Adam(all, new AdamOptions(0.01))))
                .context(hvd)
                .build();
        optimizer.broadcastParameters(0);
        try (var checkpoints = Checkpoints.in(folder, hvd, optimizer)
                .model(() -> StateDict.of(net), saved -> StateDict.load(net, saved))
                .build()) {
            long done = checkpoints.resumeLatest().map(Manifest::step).orElse(0L);
            for (int i = 0; i < steps; i++) {
                optimizer.zeroGradients();
                net.loss().backward();
                optimizer.step();
            }
            checkpoints.saveAndWait(done + steps, 0);
        }
        return weights(net);
    }

    @Test
    void devicesWhoseModulesTieDifferentlyAreRefused() {
        var ties = List.of(Tie.LAYER, Tie.NONE).iterator();
        assertThatThrownBy(() -> DataParallel.wrap(() -> new Net(ties.next()), List.of(Device.CPU, Device.CPU)))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("replica 1", "[enc.bias, enc.weight]", "[dec.bias, dec.weight]");
    }

    /** The first name is what the optimizer calls it. */
    @Test
    void aSparseParameterMayBeMeantByEitherOfItsNames() {
        for (String name : List.of("embedding.weight", "output.weight")) {
            Module net = new Module();
            EmbeddingOptions options = new EmbeddingOptions(6, 3);
            options.sparse().put(true);
            EmbeddingImpl embedding = net.register_module("embedding", new EmbeddingImpl(options));
            Module output = new Module();
            net.register_module("output", output);
            output.register_parameter("weight", embedding.weight(), true);
            var sgd = new SGD(net.parameters(), new SGDOptions(0.1));
            assertThat(new TorchOptimizer(sgd, net.named_parameters(), List.of(name)).sparse())
                    .containsExactly("embedding.weight");
            assertThatThrownBy(() -> new TorchOptimizer(sgd, net.named_parameters(), List.of("other.weight")))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("[other.weight]");
        }
    }

    /** A batch norm under two names. */
    private static final class TiedNorm extends Module {
        private BatchNorm1dImpl first = register_module("first", new BatchNorm1dImpl(new BatchNormOptions(2)));
        private BatchNorm1dImpl second = first;

        TiedNorm() {
            register_module("second", first);
        }

        Tensor loss(int rank) {
            Tensor x = Tensor.create(new float[] {1 + rank, 2, 3, 5 * rank}, 2, 2);
            return second.forward(first.forward(x))
                    .square()
                    .mul(Models.tensor(1, 2))
                    .sum();
        }
    }

    @Test
    void aBatchNormUnderTwoNamesIsConvertedOnceAndItsBuffersAreAveragedOnce() {
        Hvd.spawn(3, hvd -> {
            TiedNorm net = SyncBatchNorm.convert(new TiedNorm(), hvd);
            assertThat(net.second).isSameAs(net.first).isInstanceOf(SyncBatchNorm1d.class);
            net.loss(hvd.rank()).backward();
            assertThat(net.first.num_batches_tracked().item_long()).isEqualTo(2);

            TiedNorm local = new TiedNorm();
            local.loss(hvd.rank());
            float[] own = Models.floats(local.first.running_mean());
            var buffers = TorchTensors.buffers(local);
            assertThat(buffers).containsKeys("first.running_mean", "second.running_mean");
            var optimizer = DistributedOptimizer.wrap(
                            new TorchOptimizer(new SGD(local.parameters(), Models.sgd(0.1)), local.named_parameters()))
                    .buffers(buffers)
                    .broadcastBuffers(BufferSync.meanEverySteps(1))
                    .build();
            optimizer.synchronizeBuffers();
            float[] sums = hvd.allreduce("own", io.hvd.tensor.Tensor.of(own)).toFloatArray();
            Closeness.assertClose(Models.floats(local.first.running_mean()), sums, 1e-6);
            return null;
        });
    }

    @Test
    void theNormOfTheGradientsCountsATiedWeightOnce() {
        Net net = new Net(Tie.LAYER);
        TorchOptimizer optimizer = optimizer(net, all -> new SGD(all, new SGDOptions(0.01)));
        net.loss().backward();
        double squares = net.enc.weight().grad().square().sum().item_double()
                + net.enc.bias().grad().square().sum().item_double();
        optimizer.stageAll(List.of(0, 1));
        assertThat(optimizer.gradientNorm())
                .isCloseTo(Math.sqrt(squares), org.assertj.core.api.Assertions.within(1e-5));
    }

    @Test
    void aParameterInTwoGroupsIsRefusedAsTorchDoes() {
        Net net = new Net(Tie.NONE);
        var groups = new OptimizerParamGroupVector(
                new OptimizerParamGroup(new TensorVector(net.enc.weight(), net.enc.bias())),
                new OptimizerParamGroup(new TensorVector(net.enc.bias())));
        assertThatThrownBy(() -> new TorchOptimizer(new SGD(groups, new SGDOptions(0.1)), net.named_parameters()))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                .hasMessageContainingAll("\"enc.bias\"", "groups 0 and 1");
    }

    @Test
    void aStateOfGroupsInAnotherOrderIsRefused() {
        Function<Net, TorchOptimizer> forwards = net -> grouped(net, net.enc.weight(), net.enc.bias());
        Function<Net, TorchOptimizer> backwards = net -> grouped(net, net.enc.bias(), net.enc.weight());
        byte[] state = forwards.apply(new Net(Tie.NONE)).saveState();
        TorchOptimizer other = backwards.apply(new Net(Tie.NONE));
        assertMismatch(other, state, "\"enc.weight float32[2, 2]\"", "\"enc.bias float32[2]\"");
        TorchOptimizer oneGroup = optimizer(new Net(Tie.NONE), all -> new SGD(all, Models.sgd(0.1)));
        assertMismatch(oneGroup, state, "\"parameter group 1\"");
    }

    private static TorchOptimizer grouped(Net net, Tensor first, Tensor second) {
        var groups = new OptimizerParamGroupVector(
                new OptimizerParamGroup(new TensorVector(first)), new OptimizerParamGroup(new TensorVector(second)));
        return new TorchOptimizer(new SGD(groups, Models.sgd(0.1)), net.named_parameters());
    }

    /** Two steps of Adam that an hvd before there were marks has made and saved. */
    @Test
    void aStateOfAnOlderVersionIsReadWhereNothingIsLost() throws IOException {
        Net trained = new Net(Tie.NONE);
        TorchOptimizer two = optimizer(trained, all -> new Adam(all, new AdamOptions(0.01)));
        step(trained, two);
        step(trained, two);
        TorchOptimizer resumed = optimizer(new Net(Tie.NONE), all -> new Adam(all, new AdamOptions(0.01)));
        resumed.loadState(older("adam-plain"));
        assertThat(resumed.saveState()).isEqualTo(two.saveState());

        TorchOptimizer tied = optimizer(new Net(Tie.WEIGHT), all -> new Adam(all, new AdamOptions(0.01)));
        tied.loadState(older("adam-weight"));
        byte[] saved = tied.saveState();
        TorchOptimizer again = optimizer(new Net(Tie.WEIGHT), all -> new Adam(all, new AdamOptions(0.01)));
        again.loadState(saved);
        assertThat(again.saveState()).isEqualTo(saved);
    }

    @Test
    void aStateInWhichAnOlderVersionHasLostAParameterIsRefused() throws IOException {
        TorchOptimizer optimizer = optimizer(new Net(Tie.LAYER), all -> new Adam(all, new AdamOptions(0.01)));
        byte[] before = optimizer.saveState();
        assertMismatch(optimizer, older("adam-layer"), "has 1 parameters", "expected 2", "two names");
        assertThat(optimizer.saveState()).isEqualTo(before);
    }

    private static byte[] older(String name) throws IOException {
        try (InputStream in = TiedStateTest.class.getResourceAsStream("older-states/" + name + ".state")) {
            return in.readAllBytes();
        }
    }

    private static void assertMismatch(TorchOptimizer optimizer, byte[] state, String... facts) {
        assertThatThrownBy(() -> optimizer.loadState(state))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .hasMessageContainingAll(facts);
    }

    private static TorchOptimizer optimizer(Net net, Function<TensorVector, Optimizer> make) {
        return new TorchOptimizer(make.apply(net.parameters()), net.named_parameters());
    }

    private static void step(Net net, TorchOptimizer optimizer) {
        optimizer.zeroGradients();
        net.loss().backward();
        optimizer.step();
    }
}
