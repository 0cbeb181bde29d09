package io.hvd.examples.cuda;

import io.hvd.examples.gpu.DeviceArray;
import java.util.List;

/** Adam in GPU memory, with the paper's settings and bias correction. */
final class DeviceAdam extends DeviceOptimizer {
    private final MlpKernels kernels;
    private final List<DeviceArray> mean;
    private final List<DeviceArray> square;

    DeviceAdam(MlpKernels kernels, Streams streams, List<DeviceParameter> parameters, double rate) {
        super(streams, parameters, rate);
        this.kernels = kernels;
        this.mean = newBuffers("exp_avg");
        this.square = newBuffers("exp_avg_sq");
    }

    @Override
    void update(int index, DeviceParameter parameter, long step) {
        kernels.adam(parameter, mean.get(index), square.get(index), AdamRates.at(step, learningRate()));
    }
}
