package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.bytedeco.pytorch.global.torch.tanh;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.Optimizer;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Parameters that some steps do not use, with momentum and decay, which would move them all the same: LibTorch on one rank leaves such a
 * parameter as it is, and so does DDP with find_unused_parameters.
 */
@Timeout(120)
class TorchUnusedTest {
    private static final int BATCH = 12;
    private static final int STEPS = 9;

    /** A trunk and two heads, of which a sample goes through one or both. */
    private static final class Heads extends Module {
        final LinearImpl trunk = register_module("trunk", new LinearImpl(Models.INPUTS, 4));
        final LinearImpl always = register_module("always", new LinearImpl(4, 1));
        final LinearImpl sometimes = register_module("sometimes", new LinearImpl(4, 1));

        Heads() {
            Models.fill(this, 5);
        }

        /** The mean over the samples of a rank; the second head only sees those of the second half of the batch, in some steps. */
        Tensor loss(int step, int from, int to) {
            Tensor hidden = tanh(trunk.forward(Models.inputs(from, to)));
            Tensor loss = always.forward(hidden).square().sum();
            int half = Math.max(from, BATCH / 2);
            if (isUsed(step) && half < to) {
                Tensor part = hidden.narrow(0, half - from, to - half);
                loss = loss.add(
                        sometimes.forward(part).sub(new Scalar(1.0)).square().sum());
            }
            return loss.mul(new Scalar(1.0 / (to - from)));
        }

        float[] second() {
            return Models.floats(sometimes.weight().reshape(-1));
        }
    }

    private static boolean isUsed(int step) {
        return step % 3 == 1;
    }

    private enum Kind {
        PLAIN,
        ADAM,
        TWO_PASSES,
        NO_SYNC,
        SHARDED,
        CLIPPED,
        AMP,
        BUCKETS,
        BF16,
        WEIGHTED
    }

    private static Optimizer inner(HvdContext hvd, Kind kind, Heads net) {
        if (kind == Kind.SHARDED) {
            return TorchOptimizer.sharded(
                    hvd, net.named_parameters(), (TensorVector share) -> new SGD(share, Models.sgd(0.1)));
        }
        if (kind == Kind.ADAM) {
            AdamOptions options = new AdamOptions(0.02);
            options.weight_decay().put(0.1);
            return new TorchOptimizer(new Adam(net.parameters(), options), net.named_parameters());
        }
        return new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.1)), net.named_parameters());
    }

    private static UnaryOperator<DistributedOptimizerBuilder> settings(Kind kind) {
        return switch (kind) {
            case TWO_PASSES -> builder -> builder.backwardPassesPerStep(2);
            case CLIPPED -> builder -> builder.clipGradientNorm(0.5);
            case BUCKETS -> builder -> builder.bucketBytes(1);
            case BF16 -> builder -> builder.compression(Compression.BF16);
            case WEIGHTED -> builder -> builder.weightByBatchSize();
            default -> builder -> builder;
        };
    }

    /** The weights after each step. */
    private static float[][] train(HvdContext hvd, Kind kind) {
        Heads net = new Heads();
        DistributedOptimizer optimizer = settings(kind)
                .apply(DistributedOptimizer.wrap(inner(hvd, kind, net)).context(hvd))
                .compareParametersEvery(1)
                .build();
        AmpOptimizer amp = kind == Kind.AMP
                ? AmpOptimizer.wrap(optimizer).clipGradientNorm(0.5).build()
                : null;
        int share = BATCH / hvd.size();
        int from = share * hvd.rank();
        float[][] weights = new float[STEPS][];
        for (int step = 0; step < STEPS; step++) {
            float[] before = net.second();
            try (PointerScope scope = new PointerScope()) {
                Tensor loss = net.loss(step, from, from + share);
                if (amp != null) {
                    amp.zeroGradients();
                    amp.backward(scale -> TorchOptimizer.backward(loss, scale));
                    amp.step();
                } else {
                    optimizer.zeroGradients();
                    if (kind == Kind.WEIGHTED) {
                        optimizer.batchSize(share);
                    }
                    passes(optimizer, kind, loss);
                    optimizer.step();
                }
            }
            if (!isUsed(step)) {
                assertThat(net.second()).as("unused in step " + step).isEqualTo(before);
            } else {
                assertThat(net.second()).as("used in step " + step).isNotEqualTo(before);
            }
            weights[step] = Models.weights(net);
        }
        return weights;
    }

    private static void passes(DistributedOptimizer optimizer, Kind kind, Tensor loss) {
        if (kind != Kind.TWO_PASSES && kind != Kind.NO_SYNC) {
            TorchOptimizer.backward(loss);
            return;
        }
        Tensor half = loss.mul(new Scalar(0.5));
        if (kind == Kind.NO_SYNC) {
            try (var local = optimizer.noSync()) {
                half.backward(new Tensor(), new BoolOptional(true), false, new TensorArrayRefOptional());
            }
        } else {
            half.backward(new Tensor(), new BoolOptional(true), false, new TensorArrayRefOptional());
        }
        half.backward();
    }

    @ParameterizedTest
    @EnumSource
    void aParameterThatNoRankUsesStaysAsItIsAndOneThatSomeUseIsAveragedWithZeros(Kind kind) {
        float[][] one = Hvd.spawn(1, hvd -> train(hvd, kind)).get(0);
        for (int size : new int[] {2, 3}) {
            List<float[][]> many = Hvd.spawn(size, hvd -> train(hvd, kind));
            for (int step = 0; step < STEPS; step++) {
                for (float[][] each : many) {
                    assertThat(each[step]).as("step " + step + " on each rank").isEqualTo(many.get(0)[step]);
                }
                double tolerance = kind == Kind.BF16 ? 0.02 : 2e-5;
                assertThat(distance(many.get(0)[step], one[step]))
                        .as(size + " ranks and one, step " + step)
                        .isLessThan(tolerance);
            }
        }
    }

    private static double distance(float[] a, float[] b) {
        double most = 0;
        for (int i = 0; i < a.length; i++) {
            most = Math.max(most, Math.abs(a[i] - b[i]));
        }
        return most;
    }

    /** A loss times 0, as of a rank without data, gives zeros, of which a product with a negative number is a negative one. */
    @Test
    void zerosOfEitherSignAreGradients() {
        Hvd.spawn(2, hvd -> {
            for (double factor : new double[] {0.0, -0.0}) {
                Heads net = new Heads();
                DistributedOptimizer optimizer = DistributedOptimizer.wrap(inner(hvd, Kind.PLAIN, net))
                        .context(hvd)
                        .build();
                float[] before = net.second();
                TorchOptimizer.backward(net.loss(1, 0, BATCH).mul(new Scalar(factor)));
                optimizer.step();
                assertThat(net.second()).as("decayed").isNotEqualTo(before);
            }
            return null;
        });
    }

    /** As a 16-bit number it is a negative zero, like the first number of a rank that has not used the parameter. */
    @Test
    void aGradientWhoseFirstNumberIsTooSmallForTheWireCountsOnAllRanks() {
        List<float[]> weights = Hvd.spawn(2, hvd -> {
            Heads net = new Heads();
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(inner(hvd, Kind.PLAIN, net))
                    .context(hvd)
                    .compression(Compression.FP16)
                    .compareParametersEvery(1)
                    .build();
            float[] before = net.second();
            optimizer.zeroGradients();
            Tensor loss = net.loss(0, 0, BATCH);
            if (hvd.rank() == 0) {
                Tensor factors = Tensor.create(new float[] {-1e-9f, 1, 2, 3}, 1, 4);
                loss = loss.add(net.sometimes.weight().mul(factors).sum());
            }
            TorchOptimizer.backward(loss);
            optimizer.step();
            assertThat(net.second()[3]).isNotEqualTo(before[3]);
            return net.second();
        });
        assertThat(weights.get(1)).isEqualTo(weights.get(0));
    }

    @Test
    void masterWeightsOfAnUnusedParameterStayAsTheyAre() {
        Hvd.spawn(2, hvd -> {
            Heads net = new Heads();
            MasterWeights masters = MasterWeights.of(net, ScalarType.BFloat16);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            new TorchOptimizer(new SGD(masters.parameters(), Models.sgd(0.1)), masters))
                    .context(hvd)
                    .build();
            for (int step = 0; step < 4; step++) {
                float[] before = values(net);
                optimizer.zeroGradients();
                Tensor x = Models.inputs(0, 4).to(ScalarType.BFloat16);
                Tensor hidden = tanh(net.trunk.forward(x));
                boolean isUsed = step == 1 && hvd.rank() == 1;
                (isUsed ? net.sometimes : net.always).forward(hidden).sum().backward();
                optimizer.step();
                assertThat(Arrays.equals(values(net), before))
                        .as("step " + step)
                        .isEqualTo(step != 1);
            }
            return null;
        });
    }

    private static float[] values(Heads net) {
        return Models.floats(net.sometimes.weight().to(ScalarType.Float).reshape(-1));
    }
}
