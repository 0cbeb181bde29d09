package io.hvd.examples.demo;

import static org.bytedeco.pytorch.global.torch.createCPUGenerator;
import static org.bytedeco.pytorch.global.torch.empty;
import static org.bytedeco.pytorch.global.torch.relu;

import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** A dense layer from 10 to 10 values, ReLU, and a dense layer from 10 to 5, on one device or each on a device of its own. */
final class ToyModel extends Module {
    static final int INPUTS = 10;
    static final int HIDDEN = 10;
    static final int OUTPUTS = 5;

    private final LinearImpl net1 = register_module("net1", new LinearImpl(INPUTS, HIDDEN));
    private final LinearImpl net2 = register_module("net2", new LinearImpl(HIDDEN, OUTPUTS));
    private Device second;

    /** Moves the first layer to one device and the second layer to another one, which may be the same. */
    ToyModel onto(Device first, Device other) {
        net1.to(first, false);
        net2.to(other, false);
        second = other;
        return this;
    }

    /** @param x (batch, 10), on the first device @return (batch, 5), on the second one */
    Tensor forward(Tensor x) {
        Tensor hidden = relu(net1.forward(x));
        return net2.forward(hidden.to(second, hidden.scalar_type()));
    }

    /** Values from the standard normal distribution, which depend on the seed alone. */
    static Tensor normal(long seed, long... shape) {
        Generator generator = createCPUGenerator();
        generator.set_current_seed(seed);
        return empty(shape).normal_(0, 1, new GeneratorOptional(generator));
    }
}
