package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;

import io.hvd.optimizer.Adagrad;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.RmsProp;
import io.hvd.optimizer.Sgd;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.bytedeco.pytorch.AdagradOptions;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.RMSpropOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The optimizers on plain arrays take the steps that LibTorch's take. */
@Timeout(120)
class SameAsLibTorchTest {
    private static final int ELEMENTS = 37;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    static List<Arguments> pairs() {
        return List.of(
                pair("plain SGD", p -> new Sgd(p, 0.1), m -> new SGD(m.parameters(), new SGDOptions(0.1))),
                pair(
                        "SGD with momentum and weight decay",
                        p -> new Sgd(p, 0.05, 0.9, 0.01),
                        m -> new SGD(m.parameters(), Models.sgd(0.05))),
                pair(
                        "SGD with Nesterov's momentum",
                        p -> Sgd.nesterov(p, 0.05, 0.9, 0.01),
                        m -> new SGD(m.parameters(), nesterov())),
                pair(
                        "AdamW",
                        p -> new io.hvd.optimizer.AdamW(p, 0.01),
                        m -> new AdamW(m.parameters(), new AdamWOptions(0.01))),
                pair(
                        "AdamW with other settings",
                        p -> new io.hvd.optimizer.AdamW(p, 0.01, 0.75, 0.75, 1e-3, 0.5),
                        m -> new AdamW(m.parameters(), adamW(0.75, 1e-3, 0.5))),
                pair("RMSprop", p -> new RmsProp(p, 0.01), m -> new RMSprop(m.parameters(), new RMSpropOptions(0.01))),
                pair(
                        "RMSprop with other settings",
                        p -> new RmsProp(p, 0.01, 0.75, 1e-3, 0.5, 0.125),
                        m -> new RMSprop(m.parameters(), rmsProp())),
                pair(
                        "Adagrad",
                        p -> new Adagrad(p, 0.1),
                        m -> new org.bytedeco.pytorch.Adagrad(m.parameters(), new AdagradOptions(0.1))),
                pair(
                        "Adagrad with other settings",
                        p -> new Adagrad(p, 0.1, 0.25, 0.125, 1e-3),
                        m -> new org.bytedeco.pytorch.Adagrad(m.parameters(), adagrad())),
                pair(
                        "Adam",
                        p -> new io.hvd.optimizer.Adam(p, 0.01),
                        m -> new Adam(m.parameters(), new AdamOptions(0.01))),
                pair(
                        "Adam with other settings",
                        p -> new io.hvd.optimizer.Adam(p, 0.01, 0.75, 0.75, 1e-3),
                        m -> new Adam(m.parameters(), adam(0.75, 1e-3))));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("pairs")
    void fiftyStepsEndAtTheSameWeights(
            Function<ArrayParameters, io.hvd.optimizer.Optimizer> ours, Function<Module, Optimizer> theirs) {
        float[] value = random(new Random(1));
        float[] gradient = new float[ELEMENTS];
        var optimizer = ours.apply(new ArrayParameters().add("w", value, gradient));
        Module module = new Module();
        Tensor parameter = Models.parameter(module, "w", value);
        Optimizer torch = theirs.apply(module);

        for (int step = 0; step < 50; step++) {
            float[] next = random(new Random(100 + step));
            System.arraycopy(next, 0, gradient, 0, ELEMENTS);
            optimizer.step();
            torch.zero_grad();
            parameter.mul(Models.tensor(next)).sum().backward();
            torch.step();
        }

        assertClose(value, Models.floats(parameter), 1e-6);
    }

    private static SGDOptions nesterov() {
        SGDOptions options = Models.sgd(0.05);
        options.nesterov().put(true);
        return options;
    }

    private static AdamWOptions adamW(double bothBetas, double epsilon, double weightDecay) {
        AdamWOptions options = new AdamWOptions(0.01);
        options.betas().put(0, bothBetas).put(1, bothBetas);
        options.eps().put(epsilon);
        options.weight_decay().put(weightDecay);
        return options;
    }

    private static AdamOptions adam(double bothBetas, double epsilon) {
        AdamOptions options = new AdamOptions(0.01);
        options.betas().put(0, bothBetas).put(1, bothBetas);
        options.eps().put(epsilon);
        return options;
    }

    private static RMSpropOptions rmsProp() {
        RMSpropOptions options = new RMSpropOptions(0.01);
        options.alpha().put(0.75);
        options.eps().put(1e-3);
        options.momentum().put(0.5);
        options.weight_decay().put(0.125);
        return options;
    }

    private static AdagradOptions adagrad() {
        AdagradOptions options = new AdagradOptions(0.1);
        options.lr_decay().put(0.25);
        options.weight_decay().put(0.125);
        options.eps().put(1e-3);
        return options;
    }

    private static float[] random(Random random) {
        float[] values = new float[ELEMENTS];
        for (int i = 0; i < ELEMENTS; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return values;
    }

    private static Arguments pair(
            String name,
            Function<ArrayParameters, io.hvd.optimizer.Optimizer> ours,
            Function<Module, Optimizer> theirs) {
        return Arguments.of(Named.of(name, ours), theirs);
    }
}
