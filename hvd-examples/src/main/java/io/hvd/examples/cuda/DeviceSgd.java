package io.hvd.examples.cuda;

import io.hvd.examples.gpu.DeviceArray;
import java.util.List;

/** Stochastic gradient descent in GPU memory: v = momentum * v + gradient, value -= rate * v. */
final class DeviceSgd extends DeviceOptimizer {
    private final MlpKernels kernels;
    private final float momentum;
    private final List<DeviceArray> velocity;

    DeviceSgd(MlpKernels kernels, Streams streams, List<DeviceParameter> parameters, double rate, double momentum) {
        super(streams, parameters, rate);
        this.kernels = kernels;
        this.momentum = (float) momentum;
        this.velocity = momentum == 0 ? List.of() : newBuffers("momentum_buffer");
    }

    @Override
    void update(int index, DeviceParameter parameter, long step) {
        kernels.sgd(parameter, velocity.isEmpty() ? null : velocity.get(index), (float) learningRate(), momentum);
    }
}
