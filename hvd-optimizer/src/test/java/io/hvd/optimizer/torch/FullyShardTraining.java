package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import io.hvd.train.LearningRate;
import io.hvd.train.Schedule;
import io.hvd.train.TrainingLoop;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.IntSupplier;
import org.assertj.core.data.Offset;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.TanhImpl;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Models that are fully sharded, beside the same ones that every rank has whole. */
@Timeout(180)
abstract class FullyShardTraining {
    private static final Offset<Double> SAME = within(1e-6);
    private static final int SAMPLES = 4;
    private static final List<FullyShardOptions> STAGES = List.of(
            FullyShardOptions.zero3(),
            FullyShardOptions.zero2(),
            FullyShardOptions.zero3().withPrefetch(false));
    private static final Function<TensorVector, Optimizer> ADAMW = share -> new AdamW(share, new AdamWOptions(0.01));
    private static final List<Function<TensorVector, Optimizer>> KINDS =
            List.of(ADAMW, share -> new Adam(share, Models.adam(0.01)), share -> new SGD(share, Models.sgd(0.05)));

    abstract GradientSamples.Ranks ranks();

    /** What a training leaves: the losses of this rank and, on rank 0, the parameters. */
    private record Trained(List<Double> losses, Map<String, double[]> parameters) {}

    /** How to train: passes before each step, and the largest norm. */
    private record Way(int steps, int passes, double norm) {
        static final Way PLAIN = new Way(5, 1, 1e9);
    }

    private static int sample(HvdContext hvd, int pass) {
        return SAMPLES * (pass * hvd.size() + hvd.rank());
    }

    private static Trained whole(HvdContext hvd, ResidualModel model, Function<TensorVector, Optimizer> make, Way way) {
        DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                        new TorchOptimizer(make.apply(model.parameters()), model.named_parameters()))
                .context(hvd)
                .backwardPassesPerStep(way.passes)
                .clipGradientNorm(way.norm)
                .build();
        List<Double> losses = new ArrayList<>();
        for (int step = 0; step < way.steps; step++) {
            optimizer.zeroGradients();
            for (int pass = 0; pass < way.passes; pass++) {
                try (PointerScope scope = new PointerScope()) {
                    int from = sample(hvd, step * way.passes + pass);
                    var loss = model.loss(from, from + SAMPLES);
                    losses.add(loss.item_double());
                    loss.backward();
                }
            }
            optimizer.step();
        }
        return new Trained(losses, doubles(StateDict.of(model)));
    }

    private static Trained sharded(
            HvdContext hvd, FullyShard shard, ResidualModel model, Function<TensorVector, Optimizer> make, Way way) {
        var optimizer = shard.optimizer(make);
        return new Trained(steps(hvd, shard, model, optimizer, way, 0), doubles(shard.stateDict(0)));
    }

    private static List<Double> steps(
            HvdContext hvd,
            FullyShard shard,
            ResidualModel model,
            io.hvd.optimizer.Optimizer optimizer,
            Way way,
            int firstStep) {
        List<Double> losses = new ArrayList<>();
        for (int step = firstStep; step < firstStep + way.steps; step++) {
            optimizer.zeroGradients();
            for (int pass = 0; pass < way.passes; pass++) {
                try (PointerScope scope = new PointerScope()) {
                    int from = sample(hvd, step * way.passes + pass);
                    var loss = model.loss(from, from + SAMPLES);
                    losses.add(loss.item_double());
                    shard.backward(loss);
                }
            }
            shard.clipGradNorm(way.norm);
            optimizer.step();
        }
        return losses;
    }

    private static Map<String, double[]> doubles(Map<String, Tensor> state) {
        Map<String, double[]> doubles = new TreeMap<>();
        state.forEach((name, tensor) -> doubles.put(
                name, tensor.toArray() instanceof double[] already ? already : widened(tensor.toFloatArray())));
        return doubles;
    }

    private static double[] widened(float[] floats) {
        double[] wide = new double[floats.length];
        Arrays.setAll(wide, i -> floats[i]);
        return wide;
    }

    private static void assertSame(HvdContext hvd, Trained found, Trained expected, Offset<Double> offset) {
        assertThat(found.losses).hasSameSizeAs(expected.losses);
        for (int i = 0; i < found.losses.size(); i++) {
            assertThat(found.losses.get(i)).as("loss %d", i).isCloseTo(expected.losses.get(i), offset);
        }
        if (hvd.rank() == 0) {
            assertThat(found.parameters.keySet()).isEqualTo(expected.parameters.keySet());
            expected.parameters.forEach((name, values) ->
                    assertThat(found.parameters.get(name)).as(name).containsExactly(values, offset));
        } else {
            assertThat(found.parameters).isEmpty();
        }
    }

    @Test
    void lossesAndParametersAreThoseOfTheWholeModel() throws Exception {
        ranks().run(hvd -> {
            for (var kind : KINDS) {
                Trained expected = whole(hvd, ResidualModel.of(ScalarType.Double, 3), kind, Way.PLAIN);
                for (FullyShardOptions stage : STAGES) {
                    ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
                    try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage))) {
                        assertSame(hvd, sharded(hvd, shard, model, kind, Way.PLAIN), expected, SAME);
                        assertThat(shard.gatheredBytes()).isZero();
                    }
                }
            }
            return null;
        });
    }

    @Test
    void gradientsOfSeveralPassesAddUpAndAreClippedByTheNormOfAll() throws Exception {
        ranks().run(hvd -> {
            Way way = new Way(4, 3, 0.05);
            Trained expected = whole(hvd, ResidualModel.of(ScalarType.Double, 3), ADAMW, way);
            Trained unclipped = whole(hvd, ResidualModel.of(ScalarType.Double, 3), ADAMW, new Way(4, 3, 1e9));
            assertThat(expected.losses).isNotEqualTo(unclipped.losses);
            for (FullyShardOptions stage : STAGES) {
                ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
                try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage))) {
                    assertSame(hvd, sharded(hvd, shard, model, ADAMW, way), expected, SAME);
                }
            }
            return null;
        });
    }

    /** Other weights on other ranks are overwritten by the first rank's. */
    @Test
    void allRanksBeginWithTheValuesOfTheFirstOne() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Double, 3 + hvd.rank());
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero3()))) {
                SortedMap<String, Tensor> state = shard.stateDict(hvd.size() - 1);
                if (hvd.rank() == hvd.size() - 1) {
                    Map<String, double[]> first = doubles(StateDict.of(ResidualModel.of(ScalarType.Double, 3)));
                    assertThat(state.keySet()).isEqualTo(first.keySet());
                    doubles(state)
                            .forEach((name, values) ->
                                    assertThat(values).as(name).containsExactly(first.get(name)));
                } else {
                    assertThat(state).isEmpty();
                }
            }
            return null;
        });
    }

    /**
     * bfloat16 has 8 bits of mantissa: weights, activations and gradients are each rounded by up to 2^-9 of themselves. A gradient passes through
     * a dozen such roundings, about 2 % of its length altogether; what it does to small steps of SGD is as much of the way that the
     * parameters go. Were one block's gradient missing, or the sum of the ranks instead of the mean, it would be more than a tenth.
     */
    @Test
    void unitsComputeInBfloat16WhileTheShardsStayInFloat32() throws Exception {
        ranks().run(hvd -> {
            Function<TensorVector, Optimizer> slow = share -> new SGD(share, Models.sgd(0.001));
            Trained expected = whole(hvd, ResidualModel.of(ScalarType.Float, 3), slow, Way.PLAIN);
            ResidualModel model = ResidualModel.of(ScalarType.Float, 3);
            FullyShardOptions options = FullyShardOptions.zero3().computeIn(ScalarType.BFloat16);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, options))) {
                var optimizer = shard.optimizer(slow);
                Map<String, double[]> before = doubles(shard.stateDict(0));
                for (int step = 0; step < Way.PLAIN.steps; step++) {
                    try (PointerScope scope = new PointerScope()) {
                        optimizer.zeroGradients();
                        int from = sample(hvd, step);
                        var loss = model.loss(from, from + SAMPLES, ScalarType.BFloat16);
                        double exact = expected.losses.get(step);
                        assertThat(loss.item_double()).isNotEqualTo(exact).isCloseTo(exact, withinPercentage(5));
                        shard.backward(loss);
                        optimizer.step();
                    }
                }
                Map<String, double[]> after = doubles(shard.stateDict(0));
                if (hvd.rank() == 0) {
                    assertThat(distance(after, expected.parameters))
                            .isPositive()
                            .isLessThan(0.1 * distance(expected.parameters, before));
                }
                assertThat(shard.shards().get("block0.flat_param").dtype()).isEqualTo(DType.FLOAT32);
            }
            return null;
        });
    }

    private static double distance(Map<String, double[]> one, Map<String, double[]> other) {
        double squares = 0;
        for (Map.Entry<String, double[]> each : one.entrySet()) {
            double[] others = other.get(each.getKey());
            for (int i = 0; i < others.length; i++) {
                squares += Math.pow(each.getValue()[i] - others[i], 2);
            }
        }
        return Math.sqrt(squares);
    }

    @Test
    void anEvaluationWithoutAGraphGivesTheLossAndLeavesNothingGathered() throws Exception {
        ranks().run(hvd -> {
            ResidualModel whole = ResidualModel.of(ScalarType.Double, 3);
            for (FullyShardOptions stage : STAGES) {
                ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
                try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage));
                        PointerScope scope = new PointerScope();
                        NoGradGuard guard = new NoGradGuard()) {
                    double expected = whole.loss(0, SAMPLES).item_double();
                    assertThat(model.loss(0, SAMPLES).item_double()).isCloseTo(expected, SAME);
                    assertThat(shard.gatheredBytes()).isZero();
                }
            }
            return null;
        });
    }

    /** Storage is what LibTorch itself says of the memory behind a parameter. */
    @Test
    void aUnitHasMemoryWithinItsForwardAndBackwardOnly() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero3()));
                    PointerScope scope = new PointerScope()) {
                IntSupplier present = () -> (int) model.blocks.stream()
                        .filter(block -> block.up
                                .weight()
                                .storage()
                                .unsafeGetStorageImpl()
                                ._mutable_data_ptr_no_checks()
                                .asBoolean())
                        .count();
                assertThat(present.getAsInt()).isZero();
                assertThat(model.first
                                .weight()
                                .storage()
                                .unsafeGetStorageImpl()
                                ._mutable_data_ptr_no_checks()
                                .asBoolean())
                        .isFalse();
                List<Integer> seen = new ArrayList<>();
                var x = Models.inputs(0, SAMPLES).to(ScalarType.Double);
                var y = shard.forward(() -> {
                    var h = model.first.forward(x);
                    for (int i = 0; i < 3; i++) {
                        ResidualModel.Block block = model.blocks.get(i);
                        h = shard.forward(
                                "block" + i,
                                in -> {
                                    seen.add(present.getAsInt());
                                    return block.forward(in);
                                },
                                h);
                        seen.add(present.getAsInt());
                    }
                    return model.last.forward(h);
                });
                assertThat(seen).containsExactly(1, 0, 1, 0, 1, 0);
                shard.backward(y.sum());
                assertThat(present.getAsInt()).isZero();
                assertThat(shard.gatheredBytes()).isZero();
                long largest = 8 * (2 * 11 * 8 + 11 + 8 + 2 * 8 + 3 * 8);
                // The root with its gradients, and of units two whole and two gradients.
                assertThat(shard.mostGatheredBytes()).isPositive().isLessThan(2 * 8 * 100 + 4 * largest);
            }
            return null;
        });
    }

    @Test
    void whoTouchesAParameterOutsideIsToldWhereItIs() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero3()));
                    PointerScope scope = new PointerScope()) {
                for (var touched : List.of(
                        model.blocks.get(1).up.weight(),
                        model.blocks.get(1).norm.bias())) {
                    assertThatThrownBy(() -> touched.detach().add(new Scalar(1.0)))
                            .hasMessageContainingAll(
                                    "unit \"block1\" are not gathered", "FullyShard.forward(\"block1\"");
                    assertThatThrownBy(() -> touched.detach().zero_()).hasMessageContaining("not gathered");
                }
                assertThat(shard.toString()).contains("4 unit(s)", hvd.size() + " rank(s)");
            }
            return null;
        });
    }

    /** Every rank fails alike, as by a batch that is refused; the next one is trained as if nothing had been. */
    @Test
    void aForwardThatFailsOnAllRanksLeavesNothingBehind() throws Exception {
        ranks().run(hvd -> {
            Trained expected = whole(hvd, ResidualModel.of(ScalarType.Double, 3), ADAMW, new Way(3, 1, 1e9));
            for (FullyShardOptions stage : STAGES) {
                ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
                try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage))) {
                    var optimizer = shard.optimizer(ADAMW);
                    List<Double> losses = new ArrayList<>(steps(hvd, shard, model, optimizer, new Way(2, 1, 1e9), 0));
                    optimizer.zeroGradients();
                    assertThatThrownBy(() -> shard.forward(() -> {
                                var h = model.first.forward(Models.inputs(0, 2).to(ScalarType.Double));
                                var first = shard.forward("block0", model.blocks.get(0)::forward, h);
                                return shard.forward(
                                        "block1",
                                        in -> {
                                            throw new IllegalStateException("bad batch");
                                        },
                                        first);
                            }))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessage("bad batch");
                    losses.addAll(steps(hvd, shard, model, optimizer, new Way(1, 1, 1e9), 2));
                    assertSame(hvd, new Trained(losses, doubles(shard.stateDict(0))), expected, SAME);
                }
            }
            return null;
        });
    }

    @Test
    void shardsGoFromAnyNumberOfRanksToAnyOtherToTheBit() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Float, 3);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero3()))) {
                var optimizer = shard.optimizer(ADAMW);
                steps(hvd, shard, model, optimizer, new Way(2, 1, 1e9), 0);
                optimizer.learningRate(0.005);
                SortedMap<String, Tensor> mine = shard.shards();
                assertThat(mine)
                        .containsKeys("block0.flat_param", "flat_param.moment.exp_avg", "flat_param.moment.step");
                SortedMap<String, Tensor> before = shard.stateDict(0);
                List<Double> losses = steps(hvd, shard, model, optimizer, new Way(2, 1, 1e9), 2);
                SortedMap<String, Tensor> after = shard.stateDict(0);

                shard.loadShards(hvd.size(), rank -> {
                    assertThat(rank).isEqualTo(hvd.rank());
                    return mine;
                });
                assertThat(doubles(shard.stateDict(0)))
                        .usingRecursiveComparison()
                        .isEqualTo(doubles(before));
                assertThat(optimizer.learningRate()).isEqualTo(0.005);
                assertThat(steps(hvd, shard, model, optimizer, new Way(2, 1, 1e9), 2))
                        .isEqualTo(losses);
                assertThat(doubles(shard.stateDict(0)))
                        .usingRecursiveComparison()
                        .isEqualTo(doubles(after));
            }
            return null;
        });
    }

    @Test
    void aWholeStateGoesToAllRanksAndOneOfAnotherModelIsRefusedOnAll() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
            ResidualModel other = ResidualModel.of(ScalarType.Double, 5);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero2()))) {
                Map<String, Tensor> state = hvd.rank() == 0 ? StateDict.of(other) : null;
                shard.loadStateDict(state, 0);
                SortedMap<String, Tensor> found = shard.stateDict(0);
                if (hvd.rank() == 0) {
                    assertThat(doubles(found)).usingRecursiveComparison().isEqualTo(doubles(state));
                    state.remove("block1.up.bias");
                }
                assertThatThrownBy(() -> shard.loadStateDict(state, 0))
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                        .hasMessageContainingAll("rank 0", "[block1.up.bias]");
            }
            return null;
        });
    }

    /** Running statistics are each rank's own, of its batches; the first rank's are what all begin with. */
    @Test
    void buffersStayWholeAndAUnitMayHaveNoParameters() throws Exception {
        ranks().run(hvd -> {
            var model = new SequentialImpl();
            var dense = new LinearImpl(Models.INPUTS, 4);
            var norm = new BatchNorm1dImpl(new BatchNormOptions(4));
            norm.running_mean().fill_(new Scalar(hvd.rank() + 1.0));
            model.push_back("dense", dense);
            model.push_back("norm", norm);
            try (FullyShard shard = FullyShard.over(hvd, FullyShardOptions.zero3());
                    PointerScope scope = new PointerScope()) {
                shard.unit("dense", dense)
                        .unit("norm", norm)
                        .unit("tanh", new TanhImpl())
                        .root(model);
                var optimizer = shard.optimizer(ADAMW);
                assertThat(norm.running_mean().min().item_float()).isEqualTo(1);
                var y = shard.forward(() -> {
                    var h = shard.forward("dense", dense::forward, Models.inputs(0, 6));
                    return shard.forward("tanh", x -> x.tanh(), shard.forward("norm", norm::forward, h));
                });
                shard.backward(y.square().sum());
                optimizer.step();
                assertThat(norm.running_mean().min().item_float()).isNotEqualTo(1);
                float[] mean = Models.floats(norm.running_mean());
                SortedMap<String, Tensor> mine = shard.shards();
                SortedMap<String, Tensor> state = shard.stateDict(0);
                norm.running_mean().zero_();
                if (hvd.rank() == 0) {
                    assertThat(state)
                            .containsOnlyKeys(
                                    "dense.weight",
                                    "dense.bias",
                                    "norm.weight",
                                    "norm.bias",
                                    "norm.running_mean",
                                    "norm.running_var",
                                    "norm.num_batches_tracked");
                }
                shard.loadStateDict(state, 0);
                assertThat(Models.floats(norm.running_mean())).containsExactly(mean);
                norm.running_mean().zero_();
                shard.loadShards(hvd.size(), rank -> mine);
                assertThat(Models.floats(norm.running_mean())).containsExactly(mean);
            }
            return null;
        });
    }

    /** A frozen unit is gathered for backward, which goes through it, and is neither reduced nor stepped. */
    @Test
    void frozenParametersAreSharedOutAndStayAsTheyAre() throws Exception {
        ranks().run(hvd -> {
            for (FullyShardOptions stage : STAGES) {
                List<Trained> trained = new ArrayList<>();
                for (boolean shared : new boolean[] {false, true}) {
                    ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
                    model.blocks.get(1).up.weight().set_requires_grad(false);
                    for (var frozen : List.of(
                            model.blocks.get(2).up.weight(),
                            model.blocks.get(2).up.bias(),
                            model.blocks.get(2).down.weight(),
                            model.blocks.get(2).down.bias(),
                            model.blocks.get(2).norm.weight(),
                            model.blocks.get(2).norm.bias())) {
                        frozen.set_requires_grad(false);
                    }
                    if (shared) {
                        try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage))) {
                            trained.add(sharded(hvd, shard, model, ADAMW, Way.PLAIN));
                            assertThat(shard.shards())
                                    .containsKeys("block1.frozen_flat_param", "block2.frozen_flat_param")
                                    .doesNotContainKey("block2.flat_param");
                        }
                    } else {
                        trained.add(whole(hvd, model, ADAMW, Way.PLAIN));
                    }
                }
                assertSame(hvd, trained.get(1), trained.get(0), SAME);
            }
            return null;
        });
    }

    /** A layer that is called twice has one gradient, which is complete after the first call's backward. */
    @Test
    void aUnitThatIsCalledTwiceHasTheSumOfBothGradients() throws Exception {
        ranks().run(hvd -> {
            for (FullyShardOptions stage : STAGES) {
                List<float[]> gradients = new ArrayList<>();
                for (boolean shared : new boolean[] {false, true}) {
                    ResidualModel model = ResidualModel.of(ScalarType.Float, 3);
                    ResidualModel.Block once = model.blocks.get(0);
                    ResidualModel.Block twice = model.blocks.get(1);
                    try (PointerScope scope = new PointerScope()) {
                        var x = Models.inputs(0, SAMPLES)
                                .matmul(Models.inputs(0, 8).t());
                        if (shared) {
                            try (FullyShard shard = FullyShard.over(hvd, stage)) {
                                shard.unit("twice", twice).unit("once", once);
                                var h = shard.forward("twice", twice::forward, x);
                                var y = shard.forward("twice", twice::forward, shard.forward("once", once::forward, h));
                                var optimizer = shard.optimizer(share -> new SGD(share, new SGDOptions(1)));
                                shard.backward(y.square().mean());
                                optimizer.step();
                                SortedMap<String, Tensor> state = shard.stateDict(0);
                                gradients.add(
                                        hvd.rank() == 0
                                                ? state.get("twice.up.weight").toFloatArray()
                                                : null);
                            }
                        } else {
                            var y = twice.forward(once.forward(twice.forward(x)));
                            y.square().mean().backward();
                            gradients.add(Models.floats(twice.up
                                    .weight()
                                    .detach()
                                    .sub(twice.up.weight().grad())));
                        }
                    }
                }
                if (hvd.rank() == 0) {
                    assertThat(gradients.get(1)).containsExactly(gradients.get(0), within(1e-4f));
                }
            }
            return null;
        });
    }

    @Test
    void aTrainingLoopWithAScheduleStepsIt() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero3()))) {
                var optimizer = shard.optimizer(ADAMW);
                List<Double> rates = new ArrayList<>();
                TrainingLoop.of(hvd, optimizer)
                        .with(new LearningRate(Schedule.step(0.01, 0.5, 1)))
                        .run(3, List.of(0, 1), 2, (batch, training) -> {
                            steps(hvd, shard, model, optimizer, new Way(1, 1, 1e9), batch);
                            rates.add(optimizer.learningRate());
                        });
                assertThat(rates).containsExactly(0.01, 0.01, 0.005, 0.005, 0.0025, 0.0025);
            }
            return null;
        });
    }

    @Test
    void randomUnitsTrainLikeTheWholeModel() throws Exception {
        for (long seed = 1; seed <= 4; seed++) {
            long now = seed;
            ranks().run(hvd -> {
                Random random = new Random(now);
                int[] inner = random.ints(1 + random.nextInt(4), 1, 20).toArray();
                FullyShardOptions stage = STAGES.get(random.nextInt(STAGES.size()));
                Way way = new Way(3, 1 + random.nextInt(2), random.nextBoolean() ? 0.1 : 1e9);
                Trained expected = whole(hvd, new ResidualModel(ScalarType.Double, now, inner), ADAMW, way);
                ResidualModel model = new ResidualModel(ScalarType.Double, now, inner);
                try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage))) {
                    Trained found = sharded(hvd, shard, model, ADAMW, way);
                    assertThat(found.losses)
                            .as("seed %d, %s", now, Arrays.toString(inner))
                            .isNotEmpty();
                    assertSame(hvd, found, expected, SAME);
                }
                return null;
            });
        }
    }
}
