package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.floats;
import static io.hvd.optimizer.torch.NormNet.samples;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.tensor.ReduceOp;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Batch norms over the batches of all ranks, beside LibTorch's own over the whole batch on one rank. */
@Timeout(240)
abstract class SyncedBatches {
    private static final int FEATURES = 3;
    private static final int STEPS = 20;
    private static final int BATCH = 64;

    abstract GradientSamples.Ranks ranks();

    /** Rank r has r + 1 samples. */
    private static int first(int rank) {
        return rank * (rank + 1) / 2;
    }

    private static BatchNormOptions options() {
        return new BatchNormOptions(FEATURES);
    }

    private static SyncBatchNorm2d layer(ProcessSet set, BatchNormOptions options) {
        return new SyncBatchNorm2d(set, "norm", options);
    }

    private static Tensor images(int from, int to) {
        return samples(from, to, FEATURES, 4, 5);
    }

    /** The gradient that the loss has for the output, another one for every element. */
    private static Tensor outer(int from, int to) {
        return samples(100 + from, 100 + to, FEATURES, 4, 5);
    }

    private static Tensor leaf(Tensor values) {
        values.requires_grad_(true);
        return values;
    }

    private static void backward(Tensor output, Tensor gradient, boolean retain) {
        output.backward(gradient, new BoolOptional(retain), false, new TensorArrayRefOptional());
    }

    private static void weigh(Tensor weight, Tensor bias) {
        for (int i = 0; i < FEATURES; i++) {
            weight.detach().narrow(0, i, 1).fill_(new Scalar(0.5 + i));
            bias.detach().narrow(0, i, 1).fill_(new Scalar(1.0 - i));
        }
    }

    private static void assertClose(Tensor found, Tensor expected, double tolerance) {
        assertThat(floats(found.detach().to(ScalarType.Float).contiguous()))
                .usingComparatorWithPrecision((float) tolerance)
                .containsExactly(floats(expected.detach().to(ScalarType.Float).contiguous()));
    }

    private static Tensor summed(HvdContext hvd, String name, Tensor tensor) {
        Tensor sum = tensor.detach().clone();
        hvd.allreduceInPlace(name, TorchTensors.alias(name, sum), AllreduceOptions.sum());
        return sum;
    }

    @Test
    void unevenBatchesAreNormalisedAndTrainedAsOneBatchOnOneRank() throws Exception {
        ranks().run(hvd -> {
            int from = first(hvd.rank());
            int to = first(hvd.rank() + 1);
            int all = first(hvd.size());
            SyncBatchNorm2d layer = layer(hvd, options());
            BatchNorm2dImpl whole = new BatchNorm2dImpl(options());
            weigh(layer.weight(), layer.bias());
            weigh(whole.weight(), whole.bias());
            for (int step = 0; step < 3; step++) {
                Tensor mine = leaf(images(from, to));
                Tensor x = leaf(images(0, all));
                Tensor y = layer.forward(mine);
                Tensor expected = whole.forward(x);
                backward(y, outer(from, to), false);
                backward(expected, outer(0, all), false);
                assertClose(y, expected.narrow(0, from, to - from), 1e-5);
                assertClose(mine.grad(), x.grad().narrow(0, from, to - from), 1e-5);
            }
            assertClose(
                    summed(hvd, "weight", layer.weight().grad()), whole.weight().grad(), 1e-3);
            assertClose(summed(hvd, "bias", layer.bias().grad()), whole.bias().grad(), 1e-3);
            assertClose(layer.running_mean(), whole.running_mean(), 1e-6);
            assertClose(layer.running_var(), whole.running_var(), 1e-5);
            assertThat(layer.num_batches_tracked().item_long()).isEqualTo(3);
            return null;
        });
    }

    @Test
    void doublePrecisionIsKept() throws Exception {
        ranks().run(hvd -> {
            SyncBatchNorm2d layer = layer(hvd, options());
            layer.to(ScalarType.Double, false);
            BatchNorm2dImpl whole = new BatchNorm2dImpl(options());
            whole.to(ScalarType.Double, false);
            int from = first(hvd.rank());
            int to = first(hvd.rank() + 1);
            // A mean of 10^6 beside a spread of 1: squares around zero would leave four digits of the variance.
            Tensor x = images(0, first(hvd.size())).to(ScalarType.Double).add(new Scalar(1e6));
            Tensor y = layer.forward(x.narrow(0, from, to - from));
            double worst = y.sub(whole.forward(x).narrow(0, from, to - from))
                    .abs()
                    .max()
                    .item_double();
            assertThat(worst).isLessThan(1e-8);
            return null;
        });
    }

    @Test
    void aMeanFarFromZeroCostsNoDigitsOfTheVariance() throws Exception {
        ranks().run(hvd -> {
            SyncBatchNorm2d layer = layer(hvd, options());
            Tensor mine = images(hvd.rank(), hvd.rank() + 1).add(new Scalar(4096));
            layer.forward(mine);
            Tensor all = images(0, hvd.size()).add(new Scalar(4096)).to(ScalarType.Double);
            long values = all.numel() / FEATURES;
            Tensor centred = all.sub(all.mean(new long[] {0, 2, 3}, true, new ScalarTypeOptional()));
            Tensor variance = centred.square()
                    .sum(new long[] {0, 2, 3}, false, new ScalarTypeOptional())
                    .div(new Scalar((double) values - 1));
            // running = 0.9 * 1 + 0.1 * found
            Tensor found = layer.running_var()
                    .to(ScalarType.Double)
                    .sub(new Scalar(0.9))
                    .mul(new Scalar(10.0));
            assertClose(found.div(variance), variance.div(variance), 1e-3);
            return null;
        });
    }

    @Test
    void aRankWithoutSamplesTakesPart() throws Exception {
        ranks().run(hvd -> {
            if (hvd.size() == 1) {
                return null;
            }
            int from = first(hvd.rank() - 1);
            int to = hvd.rank() == 0 ? from : first(hvd.rank());
            int all = first(hvd.size() - 1);
            SyncBatchNorm2d layer = layer(hvd, options());
            BatchNorm2dImpl whole = new BatchNorm2dImpl(options());
            Tensor mine = leaf(hvd.rank() == 0 ? images(0, 1).narrow(0, 0, 0).clone() : images(from, to));
            Tensor x = leaf(images(0, all));
            Tensor y = layer.forward(mine);
            Tensor expected = whole.forward(x);
            backward(y, hvd.rank() == 0 ? y.detach() : outer(from, to), false);
            backward(expected, outer(0, all), false);
            assertClose(layer.running_var(), whole.running_var(), 1e-5);
            if (hvd.rank() > 0) {
                assertClose(y, expected.narrow(0, from, to - from), 1e-5);
                assertClose(mine.grad(), x.grad().narrow(0, from, to - from), 1e-5);
            }
            return null;
        });
    }

    @Test
    void withoutMomentumTheRunningStatisticsAreTheMeanOverAllBatches() throws Exception {
        ranks().run(hvd -> {
            BatchNormOptions cumulative = options();
            cumulative.momentum().reset();
            SyncBatchNorm2d layer = layer(hvd, cumulative);
            BatchNorm2dImpl whole = new BatchNorm2dImpl(cumulative);
            for (int step = 0; step < 3; step++) {
                int base = 50 * step;
                layer.forward(images(base + hvd.rank(), base + hvd.rank() + 1));
                whole.forward(images(base, base + hvd.size()));
            }
            assertClose(layer.running_mean(), whole.running_mean(), 1e-6);
            assertClose(layer.running_var(), whole.running_var(), 1e-5);
            return null;
        });
    }

    @Test
    void withoutWeightsAndStatisticsItOnlyNormalises() throws Exception {
        ranks().run(hvd -> {
            BatchNormOptions bare = options();
            bare.affine().put(false);
            bare.track_running_stats().put(false);
            SyncBatchNorm2d layer = layer(hvd, bare);
            BatchNorm2dImpl whole = new BatchNorm2dImpl(bare);
            int rank = hvd.rank();
            Tensor mine = leaf(images(rank, rank + 1));
            Tensor x = leaf(images(0, hvd.size()));
            Tensor y = layer.forward(mine);
            Tensor expected = whole.forward(x);
            backward(y, outer(rank, rank + 1), false);
            backward(expected, outer(0, hvd.size()), false);
            assertClose(y, expected.narrow(0, rank, 1), 1e-5);
            assertClose(mine.grad(), x.grad().narrow(0, rank, 1), 1e-5);
            return null;
        });
    }

    @Test
    void halfPrecisionInputHasStatisticsInSinglePrecision() throws Exception {
        ranks().run(hvd -> {
            for (ScalarType type : List.of(ScalarType.BFloat16, ScalarType.Half)) {
                SyncBatchNorm2d layer = layer(hvd, options());
                BatchNorm2dImpl whole = new BatchNorm2dImpl(options());
                int rank = hvd.rank();
                Tensor mine = leaf(images(rank, rank + 1).to(type));
                Tensor x = leaf(images(0, hvd.size()).to(type));
                Tensor y = layer.forward(mine);
                Tensor expected = whole.forward(x);
                backward(y, outer(rank, rank + 1).to(type), false);
                backward(expected, outer(0, hvd.size()).to(type), false);
                assertThat(y.scalar_type().intern()).isEqualTo(type);
                assertClose(y, expected.narrow(0, rank, 1), 3e-2);
                assertClose(mine.grad(), x.grad().narrow(0, rank, 1), 5e-2);
                assertClose(layer.running_var(), whole.running_var(), 1e-3);
            }
            return null;
        });
    }

    /** The 65,536 squares of a feature, as the gradient's sum, are beyond the largest number of 16 bits. */
    @Test
    void aLargeBatchInHalfPrecisionHasTheStatisticsOfOneInSinglePrecision() throws Exception {
        ranks().run(hvd -> {
            if (hvd.size() == 1) {
                return null; // LibTorch's own, which with 16-bit weights adds up in 16 bits
            }
            for (ScalarType type : List.of(ScalarType.BFloat16, ScalarType.Half)) {
                for (boolean halfWeights : new boolean[] {false, true}) {
                    requireStatisticsOfSinglePrecision(hvd, type, halfWeights);
                }
            }
            return null;
        });
    }

    private static void requireStatisticsOfSinglePrecision(HvdContext hvd, ScalarType type, boolean halfWeights) {
        Tensor narrow = samples(64 * hvd.rank(), 64 * (hvd.rank() + 1), FEATURES, 32, 32)
                .mul(new Scalar(2))
                .to(type);
        SyncBatchNorm2d layer = layer(hvd, options());
        if (halfWeights) {
            layer.to(type, false);
        }
        SyncBatchNorm2d wide = new SyncBatchNorm2d(hvd, "wide", options());
        Tensor x = leaf(narrow.to(ScalarType.Float));
        Tensor mine = leaf(narrow);
        Tensor y = layer.forward(mine);
        Tensor expected = wide.forward(x);
        double tolerance = type == ScalarType.Half ? 1 : 8; // a bfloat16 has eight bits instead of eleven
        assertNear(y, expected, 1e-2 * tolerance);
        assertNear(layer.running_mean(), wide.running_mean(), (halfWeights ? 1e-3 : 1e-5) * tolerance);
        assertNear(layer.running_var(), wide.running_var(), (halfWeights ? 3e-3 : 1e-5) * tolerance);
        Tensor gradient = y.detach().abs().mul(new Scalar(2));
        backward(y, gradient, false);
        backward(expected, gradient.to(ScalarType.Float), false);
        assertNear(mine.grad(), x.grad(), 2e-2 * tolerance);
    }

    private static void assertNear(Tensor found, Tensor expected, double tolerance) {
        Tensor distance = found.detach().to(ScalarType.Float).sub(expected.detach());
        assertThat(distance.abs().max().item_double()).isLessThan(tolerance); // a NaN is not
    }

    @Test
    void evaluationIsThatOfAPlainBatchNorm() throws Exception {
        ranks().run(hvd -> {
            SyncBatchNorm2d layer = layer(hvd, options());
            BatchNorm2dImpl whole = new BatchNorm2dImpl(options());
            layer.forward(images(hvd.rank(), hvd.rank() + 1));
            whole.forward(images(0, hvd.size()));
            layer.eval();
            whole.eval();
            // Only this rank calls it, and nothing travels.
            if (hvd.rank() == 0) {
                assertClose(layer.forward(images(7, 9)), whole.forward(images(7, 9)), 1e-5);
            }
            assertThat(layer.num_batches_tracked().item_long()).isEqualTo(1);
            return null;
        });
    }

    @Test
    void aProcessSetNormalisesByItsMembersBatches() throws Exception {
        ranks().run(hvd -> {
            GradientSamples.inEvenAndOddRanks(hvd, set -> {
                SyncBatchNorm2d layer = layer(set, options());
                Tensor y = layer.forward(images(set.rank(), set.rank() + 1));
                BatchNorm2dImpl whole = new BatchNorm2dImpl(options());
                assertClose(y, whole.forward(images(0, set.size())).narrow(0, set.rank(), 1), 1e-5);
            });
            return null;
        });
    }

    @Test
    void twoLossesOfOneForwardEachGetTheirGradient() throws Exception {
        ranks().run(hvd -> {
            int rank = hvd.rank();
            Tensor mine = leaf(images(rank, rank + 1));
            Tensor y = layer(hvd, options()).forward(mine);
            backward(y, outer(rank, rank + 1), true);
            backward(y, outer(rank, rank + 1), false);
            Tensor x = leaf(images(0, hvd.size()));
            backward(new BatchNorm2dImpl(options()).forward(x), outer(0, hvd.size()), false);
            assertClose(mine.grad(), x.grad().narrow(0, rank, 1).mul(new Scalar(2)), 2e-5);
            return null;
        });
    }

    @Test
    void theGradientOfSecondOrderIsRefused() throws Exception {
        ranks().run(hvd -> {
            if (hvd.size() == 1) {
                return null;
            }
            Tensor y = layer(hvd, options()).forward(leaf(images(hvd.rank(), hvd.rank() + 1)));
            assertThatThrownBy(() -> y.backward(y.detach(), new BoolOptional(true), true, new TensorArrayRefOptional()))
                    .hasMessageContainingAll(
                            ErrorId.UNSUPPORTED.code(), "sync_batch_norm.norm.gradient", "create_graph");
            return null;
        });
    }

    @Test
    void anInputThatDoesNotFitIsRefusedBeforeAnythingTravels() throws Exception {
        ranks().run(hvd -> {
            SyncBatchNorm2d layer = layer(hvd, options());
            assertRefused(layer, samples(0, 2, FEATURES), "[2, 3]", "[4] dimensions");
            assertRefused(layer, samples(0, 2, 5, 4, 4), "[2, 5, 4, 4]", "5 features, expected 3");
            assertRefused(layer, images(0, 2).to(ScalarType.Long), "type Long");
            assertRefused(new SyncBatchNorm1d(hvd, "norm", options()), images(0, 2), "[2, 3, 4, 5]", "[2, 3] dim");
            assertRefused(new SyncBatchNorm3d(hvd, "norm", options()), images(0, 2), "[2, 3, 4, 5]", "[5] dim");
            return null;
        });
    }

    private static void assertRefused(SyncBatchNorm2d layer, Tensor input, String... facts) {
        assertRefusal(() -> layer.forward(input), facts);
    }

    private static void assertRefused(SyncBatchNorm1d layer, Tensor input, String... facts) {
        assertRefusal(() -> layer.forward(input), facts);
    }

    private static void assertRefused(SyncBatchNorm3d layer, Tensor input, String... facts) {
        assertRefusal(() -> layer.forward(input), facts);
    }

    private static void assertRefusal(Runnable forward, String... facts) {
        assertThatThrownBy(forward::run)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_ARGUMENT))
                .hasMessageContaining("SyncBatchNorm \"norm\"")
                .hasMessageContainingAll(facts);
    }

    @Test
    void tooFewValuesForAVarianceAreRefusedOnAllRanks() throws Exception {
        ranks().run(hvd -> {
            if (hvd.size() == 1) {
                return null; // LibTorch's own error
            }
            SyncBatchNorm1d layer = new SyncBatchNorm1d(hvd, "norm", options());
            Tensor input = hvd.rank() == 0
                    ? samples(0, 1, FEATURES)
                    : samples(0, 1, FEATURES).narrow(0, 0, 0);
            assertRefusal(
                    () -> layer.forward(input),
                    "1 value(s)",
                    "2 or more",
                    hvd.ranks().toString());
            return null;
        });
    }

    @Test
    void aModelTrainsAsOnOneRankWithTheWholeBatch() throws Exception {
        ranks().run(hvd -> {
            NormNet net = new NormNet(5);
            SyncBatchNorm.convert(net, hvd);
            NormNet alone = new NormNet(5);
            SGD sgd = sgd(net);
            SGD sgdAlone = sgd(alone);
            var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(sgd, net.named_parameters()))
                    .context(hvd)
                    .build();
            var before = net.state();
            int share = BATCH / hvd.size();
            for (int step = 0; step < STEPS; step++) {
                int from = BATCH * (step % 4);
                try (PointerScope scope = new PointerScope()) {
                    optimizer.zeroGradients();
                    net.loss(from + hvd.rank() * share, from + (hvd.rank() + 1) * share)
                            .backward();
                    optimizer.step();
                    sgdAlone.zero_grad(true);
                    alone.loss(from, from + share * hvd.size()).backward();
                    sgdAlone.step();
                }
            }
            Weights.assertSame(net.state(), alone.state(), 1e-4);
            before.keySet().removeIf(name -> !name.endsWith("weight")); // a bias before a norm has no gradient
            Weights.assertMoved(net.state(), before);
            requireSameOnAllRanks(hvd, net);
            return null;
        });
    }

    private static SGD sgd(NormNet net) {
        SGDOptions options = new SGDOptions(0.05);
        options.momentum().put(0.9);
        return new SGD(net.parameters(), options);
    }

    private static void requireSameOnAllRanks(HvdContext hvd, NormNet net) {
        net.state().forEach((name, mine) -> {
            var least = hvd.allreduce("least." + name, mine, AllreduceOptions.of(ReduceOp.MIN));
            var most = hvd.allreduce("most." + name, mine, AllreduceOptions.of(ReduceOp.MAX));
            assertThat((float[]) least.toArray()).as(name).containsExactly((float[]) most.toArray());
        });
    }
}
