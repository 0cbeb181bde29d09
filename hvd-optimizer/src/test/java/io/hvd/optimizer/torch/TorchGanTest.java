package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.optimizer.DistributedOptimizer;
import java.util.List;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two nets that are trained against each other, with an optimizer each and no scope. */
@Timeout(120)
class TorchGanTest {
    private static final int STEPS = 6;
    private static final int BATCH = 4;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    /** The parameters of both nets have the same names. */
    private static final class Layer extends Module {
        final LinearImpl dense;

        Layer(int outputs, long seed) {
            dense = register_module("dense", new LinearImpl(Models.INPUTS, outputs));
            Models.fill(this, seed);
        }
    }

    private final Layer generator = new Layer(Models.INPUTS, 7);
    private final Layer discriminator = new Layer(1, 8);

    private static Tensor discriminatorLoss(Layer generator, Layer discriminator, int from, int to) {
        Tensor made = generator.dense.forward(Models.inputs(from, to)).detach();
        Tensor real = Models.inputs(1000 + from, 1000 + to);
        return discriminator
                .dense
                .forward(made)
                .sub(discriminator.dense.forward(real))
                .tanh()
                .mean();
    }

    private static Tensor generatorLoss(Layer generator, Layer discriminator, int from, int to) {
        return discriminator
                .dense
                .forward(generator.dense.forward(Models.inputs(from, to)))
                .tanh()
                .mean()
                .neg();
    }

    private float[] onOneRank(int size) {
        SGD ofGenerator = new SGD(generator.parameters(), Models.sgd(0.1));
        SGD ofDiscriminator = new SGD(discriminator.parameters(), Models.sgd(0.1));
        for (int step = 0; step < STEPS; step++) {
            int from = 100 * step;
            ofDiscriminator.zero_grad();
            discriminatorLoss(generator, discriminator, from, from + size * BATCH)
                    .backward();
            ofDiscriminator.step();
            ofGenerator.zero_grad();
            generatorLoss(generator, discriminator, from, from + size * BATCH).backward();
            ofGenerator.step();
        }
        return Models.weights(generator);
    }

    /** The generator's backward goes through the discriminator, whose gradients stay on the rank then. */
    @Test
    void bothTrainAsOnOneRankAlthoughTheGeneratorsBackwardReachesTheDiscriminator() {
        List<float[]> weights = Hvd.spawn(2, hvd -> {
            Layer made = new Layer(Models.INPUTS, 7);
            Layer judge = new Layer(1, 8);
            DistributedOptimizer ofGenerator = optimizer(made);
            DistributedOptimizer ofDiscriminator = optimizer(judge);
            for (int step = 0; step < STEPS; step++) {
                int from = 100 * step + hvd.rank() * BATCH;
                ofDiscriminator.zeroGradients();
                discriminatorLoss(made, judge, from, from + BATCH).backward();
                ofDiscriminator.step();
                ofGenerator.zeroGradients();
                try (var local = ofDiscriminator.noSync()) {
                    generatorLoss(made, judge, from, from + BATCH).backward();
                }
                ofGenerator.step();
            }
            return Models.weights(made);
        });

        assertThat(weights.get(1)).isEqualTo(weights.get(0));
        assertClose(weights.get(0), onOneRank(2), 1e-5);
    }

    private static DistributedOptimizer optimizer(Layer net) {
        return DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.1)), net.named_parameters()))
                .build();
    }
}
