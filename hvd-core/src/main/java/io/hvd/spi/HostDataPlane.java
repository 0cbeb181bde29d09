package io.hvd.spi;

import io.hvd.kernel.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
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
    public final Tensor filled(Device device, Tensor element, Shape shape) {
        Tensor filled = output(device, element.dtype(), shape);
        long elements = filled.elements();
        if (elements > 0 && !DataPlane.isZero(element)) {
            Converter converter = new Converter();
            converter.copy(element, 0, filled, 0, 1);
            for (long done = 1; done < elements; done *= 2) {
                converter.copy(filled, 0, filled, done, Math.min(done, elements - done));
            }
        }
        return filled;
    }

    @Override
    public final void allreduceNeutral(List<Tensor> neutral, Reduction how) {
        allreduce(neutral, neutral, how.prescaled());
    }

    @Override
    public final Completion completion() {
        return null;
    }
}
