package io.hvd.examples.gan;

import static org.bytedeco.pytorch.global.torch.leaky_relu;

import java.util.List;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** Three dense layers with leaky ReLUs between them. The generator and the discriminator differ in their inputs and outputs. */
final class DenseNet extends Module {
    private static final double LEAK = 0.2;

    private final List<LinearImpl> layers;

    DenseNet(int inputs, int hidden, int outputs) {
        layers = List.of(
                register_module("dense1", new LinearImpl(inputs, hidden)),
                register_module("dense2", new LinearImpl(hidden, hidden)),
                register_module("dense3", new LinearImpl(hidden, outputs)));
    }

    /** @param x (batch, inputs) @return (batch, outputs) */
    Tensor forward(Tensor x) {
        Tensor y = layers.get(0).forward(x);
        for (LinearImpl layer : layers.subList(1, layers.size())) {
            y = layer.forward(leaky_relu(y, new Scalar(LEAK)));
        }
        return y;
    }
}
