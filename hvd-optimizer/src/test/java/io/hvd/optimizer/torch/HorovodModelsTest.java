package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;
import static org.bytedeco.pytorch.global.torch.mse_loss;
import static org.bytedeco.pytorch.global.torch.relu;

import io.hvd.Hvd;
import io.hvd.optimizer.Closeness;
import io.hvd.optimizer.DistributedOptimizer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.AdagradOptions;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerOptions;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.RMSpropOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Models, optimizers, options and dimensions of Horovod's own tests of states and of models in parts. */
@Timeout(120)
class HorovodModelsTest {
    private static final int RANKS = 3;
    private static final int SAMPLES = 64;
    private static final int INPUTS = 100;
    private static final int WIDTH = 10;
    private static final long SUM = 2;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    /** What an optimizer of one kind takes of it. */
    private record Options(
            double rate,
            double momentum,
            double weightDecay,
            boolean nesterov,
            boolean centered,
            double firstBeta,
            double secondBeta) {
        static final Options ALL = new Options(0.2, 0.9, 0.1, false, true, 0.9, 0.999);
        static final Options RATE_ALONE = new Options(0.2, 0, 0, false, false, 0.9, 0.999);
        static final Options OF_THE_ROOT = new Options(0.1, 0.8, 0.2, true, false, 0.9, 0.999);
        static final Options OF_THE_OTHERS = new Options(0.2, 0.9, 0.1, false, true, 0.8, 0.9);
    }

    /** LBFGS is refused, as by Horovod. */
    private enum Kind {
        SGD {
            @Override
            Optimizer make(Module net, Options options) {
                SGDOptions own = new SGDOptions(options.rate);
                own.momentum().put(options.momentum);
                own.weight_decay().put(options.weightDecay);
                own.nesterov().put(options.nesterov);
                return new SGD(net.parameters(), own);
            }

            @Override
            List<Object> read(OptimizerOptions options) {
                SGDOptions own = new SGDOptions(options);
                return List.of(
                        own.lr().get(),
                        own.momentum().get(),
                        own.weight_decay().get(),
                        own.nesterov().get());
            }

            @Override
            List<Object> expected(Options options) {
                return List.of(options.rate, options.momentum, options.weightDecay, options.nesterov);
            }
        },
        ADAM {
            @Override
            Optimizer make(Module net, Options options) {
                AdamOptions own = new AdamOptions(options.rate);
                own.weight_decay().put(options.weightDecay);
                put(own.betas(), options);
                return new Adam(net.parameters(), own);
            }

            @Override
            List<Object> read(OptimizerOptions options) {
                AdamOptions own = new AdamOptions(options);
                return withBetas(own.lr(), own.weight_decay(), own.betas());
            }

            @Override
            List<Object> expected(Options options) {
                return withBetas(options);
            }
        },
        ADAM_W {
            @Override
            Optimizer make(Module net, Options options) {
                AdamWOptions own = new AdamWOptions(options.rate);
                own.weight_decay().put(options.weightDecay);
                put(own.betas(), options);
                return new AdamW(net.parameters(), own);
            }

            @Override
            List<Object> read(OptimizerOptions options) {
                AdamWOptions own = new AdamWOptions(options);
                return withBetas(own.lr(), own.weight_decay(), own.betas());
            }

            @Override
            List<Object> expected(Options options) {
                return withBetas(options);
            }
        },
        RMS_PROP {
            @Override
            Optimizer make(Module net, Options options) {
                RMSpropOptions own = new RMSpropOptions(options.rate);
                own.momentum().put(options.momentum);
                own.weight_decay().put(options.weightDecay);
                own.centered().put(options.centered);
                return new RMSprop(net.parameters(), own);
            }

            @Override
            List<Object> read(OptimizerOptions options) {
                RMSpropOptions own = new RMSpropOptions(options);
                return List.of(
                        own.lr().get(),
                        own.momentum().get(),
                        own.weight_decay().get(),
                        own.centered().get());
            }

            @Override
            List<Object> expected(Options options) {
                return List.of(options.rate, options.momentum, options.weightDecay, options.centered);
            }
        },
        ADAGRAD {
            @Override
            Optimizer make(Module net, Options options) {
                AdagradOptions own = new AdagradOptions(options.rate);
                own.weight_decay().put(options.weightDecay);
                return new Adagrad(net.parameters(), own);
            }

            @Override
            List<Object> read(OptimizerOptions options) {
                AdagradOptions own = new AdagradOptions(options);
                return List.of(own.lr().get(), own.weight_decay().get());
            }

            @Override
            List<Object> expected(Options options) {
                return List.of(options.rate, options.weightDecay);
            }
        };

        abstract Optimizer make(Module net, Options options);

        abstract List<Object> read(OptimizerOptions options);

        abstract List<Object> expected(Options options);

        private static void put(DoublePointer betas, Options options) {
            betas.put(0, options.firstBeta).put(1, options.secondBeta);
        }

        private static List<Object> withBetas(DoublePointer rate, DoublePointer weightDecay, DoublePointer betas) {
            return List.of(rate.get(), weightDecay.get(), betas.get(0), betas.get(1));
        }

        private static List<Object> withBetas(Options options) {
            return List.of(options.rate, options.weightDecay, options.firstBeta, options.secondBeta);
        }
    }

    private static final class Net extends Module {
        private final LinearImpl lower = register_module("lower", new LinearImpl(INPUTS, WIDTH));
        private final LinearImpl upper = register_module("upper", new LinearImpl(WIDTH, WIDTH));

        Net(long seed) {
            Models.fill(this, seed);
        }

        /** The sum of the squared errors over samples of one seed. */
        Tensor loss(long seed) {
            Tensor found = upper.forward(relu(lower.forward(noise(seed, SAMPLES, INPUTS))));
            return mse_loss(found, noise(seed + 1, SAMPLES, WIDTH), SUM);
        }
    }

    private static Tensor noise(long seed, long... shape) {
        int count = 1;
        for (long side : shape) {
            count *= Math.toIntExact(side);
        }
        Random random = new Random(seed);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return Tensor.create(values, shape);
    }

    private static void stepAlone(Net net, TorchOptimizer optimizer, long seed) {
        optimizer.zeroGradients();
        net.loss(seed).backward();
        optimizer.step();
    }

    private static TorchOptimizer torch(Net net, Optimizer optimizer) {
        return new TorchOptimizer(optimizer, net.named_parameters());
    }

    static List<Arguments> kindsAndOptions() {
        List<Arguments> all = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            all.add(Arguments.of(kind, Options.ALL));
            all.add(Arguments.of(kind, Options.RATE_ALONE));
        }
        return all;
    }

    private record Resumed(float[] saved, byte[] state, float[] found, byte[] foundState, float[] later) {}

    /** Rank 0 alone goes on from what it has saved; all others are new. */
    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("kindsAndOptions")
    void whatRankZeroHasSavedIsOnAllRanksAfterTheBroadcast(Kind kind, Options options) {
        List<Resumed> all = Hvd.spawn(RANKS, hvd -> {
            Net net = new Net(hvd.rank());
            TorchOptimizer past = torch(net, kind.make(net, options));
            stepAlone(net, past, 10 * hvd.rank());
            float[] saved = weights(net);
            byte[] state = past.saveState();

            Net fresh = new Net(100 + hvd.rank());
            TorchOptimizer inner = torch(fresh, kind.make(fresh, options));
            if (hvd.rank() == 0) {
                var parameters = TorchTensors.parameters(net);
                TorchTensors.parameters(fresh).forEach((name, to) -> to.copyFrom(parameters.get(name)));
                inner.loadState(state);
            }
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(inner).build();
            optimizer.broadcastParameters(0);
            optimizer.broadcastOptimizerState(0);
            float[] found = weights(fresh);
            byte[] foundState = inner.saveState();
            stepAlone(fresh, inner, 1_000);
            return new Resumed(saved, state, found, foundState, weights(fresh));
        });

        Resumed root = all.get(0);
        assertThat(all.get(1).saved).isNotEqualTo(root.saved);
        assertThat(all).allSatisfy(rank -> {
            assertThat(rank.found).isEqualTo(root.saved);
            assertThat(rank.foundState).isEqualTo(root.state);
        });
        float[] undisturbed = twoSteps(kind, options);
        assertThat(undisturbed).isNotEqualTo(root.saved);
        assertThat(all).allSatisfy(rank -> Closeness.assertClose(rank.later, undisturbed, 1e-5));
    }

    private static float[] twoSteps(Kind kind, Options options) {
        Net net = new Net(0);
        TorchOptimizer optimizer = torch(net, kind.make(net, options));
        stepAlone(net, optimizer, 0);
        stepAlone(net, optimizer, 1_000);
        return weights(net);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void theOptionsOfRankZeroAreThoseOfAllRanksAfterTheBroadcast(Kind kind) {
        List<List<Object>> found = Hvd.spawn(RANKS, hvd -> {
            Net net = new Net(7);
            Optimizer own = kind.make(net, hvd.rank() == 0 ? Options.OF_THE_ROOT : Options.OF_THE_OTHERS);
            TorchOptimizer inner = torch(net, own);
            stepAlone(net, inner, hvd.rank());
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(inner).build();
            optimizer.broadcastParameters(0);
            optimizer.broadcastOptimizerState(0);
            List<Object> options = kind.read(own.param_groups().get(0).options());
            float[] before = weights(net);
            optimizer.zeroGradients();
            net.loss(50 + hvd.rank()).backward();
            optimizer.step();
            assertThat(weights(net)).as("the options work").isNotEqualTo(before);
            return options;
        });

        assertThat(kind.expected(Options.OF_THE_OTHERS)).isNotEqualTo(kind.expected(Options.OF_THE_ROOT));
        assertThat(found).containsOnly(kind.expected(Options.OF_THE_ROOT));
    }

    /** Two convolutions of single points, which Horovod puts on a GPU each. */
    private static final class Parts extends Module {
        private static final int CHANNELS = 100;

        private final Conv2dImpl first = register_module("first", new Conv2dImpl(1, CHANNELS, new LongPointer(1, 1)));
        private final Conv2dImpl second = register_module("second", new Conv2dImpl(CHANNELS, 1, new LongPointer(1, 1)));

        Parts() {
            Models.fill(this, 3);
        }

        Tensor forward(Tensor image) {
            return second.forward(first.forward(image));
        }
    }

    /** An image of a rank is the number of the rank at every point, so that the gradients can be told by hand. */
    @Test
    void aModelInTwoPartsStepsByTheAverageOfBothPartsGradients() {
        int ranks = 2;
        int side = 1_000;
        double rate = 0.1;
        List<float[]> stepped = Hvd.spawn(ranks, hvd -> {
            Parts net = new Parts();
            SGD sgd = new SGD(net.parameters(), new SGDOptions(rate));
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new TorchOptimizer(sgd, net.named_parameters()))
                    .build();
            float[] points = new float[side * side];
            java.util.Arrays.fill(points, hvd.rank() + 1);
            try (PointerScope scope = new PointerScope()) {
                optimizer.zeroGradients();
                net.forward(Tensor.create(points, 1, 1, side, side)).sum().backward();
                optimizer.step();
            }
            return weights(net);
        });

        Parts before = new Parts();
        float[] first = Models.floats(before.first.weight().flatten());
        float[] bias = Models.floats(before.first.bias());
        float[] second = Models.floats(before.second.weight().flatten());
        double points = (double) side * side;
        double mean = (1 + ranks) / 2.0;
        float[] expected = new float[3 * Parts.CHANNELS + 1];
        for (int i = 0; i < Parts.CHANNELS; i++) {
            expected[i] = (float) (bias[i] - rate * points * second[i]);
            expected[Parts.CHANNELS + i] = (float) (first[i] - rate * points * mean * second[i]);
            expected[2 * Parts.CHANNELS + 1 + i] = (float) (second[i] - rate * points * (first[i] * mean + bias[i]));
        }
        expected[2 * Parts.CHANNELS] = (float) (Models.floats(before.second.bias())[0] - rate * points);
        assertThat(stepped.get(1)).isEqualTo(stepped.get(0));
        assertThat(stepped.get(0)).hasSameSizeAs(expected);
        for (int i = 0; i < expected.length; i++) {
            // A million floats are added up.
            assertThat(stepped.get(0)[i]).as("weight %d", i).isCloseTo(expected[i], withinPercentage(1));
        }
    }
}
