package io.hvd.optimizer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Parameter;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;

/**
 * A parameter of a DJL block with its gradient, as hvd averages it. Once backward has made a gradient, the engine adds to it
 * in place and clears it in place, so that hvd averages it where it lies; where it does not stay, it is copied before the average.
 */
final class ParameterSlot {
    private final String name;
    private final Parameter parameter;
    private final NDArray value;
    private final Tensor valueAlias;
    /** DJL's own gradient, or memory of ours as long as it. Null until {@link #bindGradient}. */
    private NDArray gradient;

    private Tensor gradientAlias;

    ParameterSlot(String name, Parameter parameter) {
        this.name = name;
        this.parameter = parameter;
        this.value = parameter.getArray();
        this.valueAlias = DjlTensors.alias(name, value);
    }

    String name() {
        return name;
    }

    NDArray value() {
        return value;
    }

    Tensor valueAlias() {
        return valueAlias;
    }

    /** By which DJL's optimizers know the parameter; it differs from run to run. */
    String id() {
        return parameter.getId();
    }

    NDArray gradient() {
        return gradient;
    }

    /** After the first backward. Without a gradient the engine gives zeros, which lie elsewhere each time. */
    void bindGradient() {
        gradient = value.getGradient();
        gradientAlias = DjlTensors.alias(name, gradient);
    }

    io.hvd.optimizer.Parameter asParameter() {
        return new io.hvd.optimizer.Parameter(name, valueAlias, gradientAlias);
    }

    /** @throws HvdException if the parameter has got another array, as by a {@code model.load} after the training has begun */
    void requireInPlace() {
        if (parameter.getArray() != value) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "parameter \"" + name + "\" has got another array since the training has begun, as model.load(...)"
                            + " does; load the model before its trainer is made");
        }
    }

    /** Brings what backward has computed to where it is averaged. @return whether it had to be copied */
    boolean gather() {
        try (NDArray now = value.getGradient()) {
            if (isSameMemory(now)) {
                return false;
            }
            now.copyTo(gradient);
            return true;
        }
    }

    /** An array tells no address, but a byte that is changed here changes there too. */
    private boolean isSameMemory(NDArray other) {
        if (gradient.size() == 0) {
            return true;
        }
        ByteBuffer here = DjlTensors.bytes(name, gradient);
        ByteBuffer there = DjlTensors.bytes(name, other);
        byte before = here.get(0);
        byte elsewhere = there.get(0);
        here.put(0, (byte) ~before);
        boolean same = there.get(0) != elsewhere;
        here.put(0, before);
        return same;
    }

    /** Whether the gradient is zero in each element. */
    boolean hasZeroGradient() {
        try (NDArray absolute = gradient.abs();
                NDArray largest = absolute.max()) {
            return largest.toType(ai.djl.ndarray.types.DataType.FLOAT32, true).getFloat() == 0;
        }
    }
}
