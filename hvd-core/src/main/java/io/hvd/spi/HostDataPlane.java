package io.hvd.spi;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Optional;

/**
 * A data plane for tensors in the host's memory. It accepts all of them and no others, and its calls return when their
 * outputs may be read.
 */
public abstract class HostDataPlane implements DataPlane {
    @Override
    public final Optional<String> refuses(OpKind kind, Device device, DType dtype, Reduction how) {
        return device.isCpu() ? Optional.empty() : DataPlane.outOfReach(device);
    }

    @Override
    public final Tensor output(Device device, DType dtype, Shape shape) {
        return Tensor.zeros(dtype, shape);
    }

    @Override
    public final Completion completion() {
        return null;
    }
}
