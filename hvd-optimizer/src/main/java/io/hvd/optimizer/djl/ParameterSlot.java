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
    private Tensor valueAlias;
    private ByteBuffer valueBytes;
    /** DJL's own gradient, or memory of ours as long as it. Null until {@link #bindGradient}. */
    private NDArray gradient;

    private Tensor gradientAlias;
    private ByteBuffer gradientBytes;

    ParameterSlot(String name, Parameter parameter) {
        this.name = name;
        this.parameter = parameter;
        this.value = parameter.getArray();
        bindValue();
    }

    private void bindValue() {
        valueAlias = DjlTensors.alias(name, value);
        valueBytes = DjlTensors.bytes(name, value);
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
        bindValue(); // which a program may have set since
        gradient = value.getGradient();
        gradientAlias = DjlTensors.alias(name, gradient);
        gradientBytes = DjlTensors.bytes(name, gradient);
    }

    io.hvd.optimizer.Parameter asParameter() {
        return new io.hvd.optimizer.Parameter(name, valueAlias, gradientAlias);
    }

    /** @throws HvdException if the parameter has got another array or other memory after the first step */
    void requireInPlace() {
        if (parameter.getArray() != value || !isSameMemory(valueBytes, DjlTensors.bytes(name, value))) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "parameter \"" + name + "\" lies elsewhere than in the first step, as after model.load(...) or"
                            + " NDArray.set(...): load the model before its trainer is made, and change values with"
                            + " NDArray.copyTo(...)");
        }
    }

    /** Brings what backward has computed to where it is averaged. @return whether it had to be copied */
    boolean gather() {
        try (NDArray now = value.getGradient()) {
            if (isSameMemory(gradientBytes, DjlTensors.bytes(name, now))) {
                return false;
            }
            now.copyTo(gradient);
            return true;
        }
    }

    /** An array tells no address, but a byte that is changed here changes there too. */
    private static boolean isSameMemory(ByteBuffer here, ByteBuffer there) {
        if (here.limit() == 0) {
            return true;
        }
        byte before = here.get(0);
        byte elsewhere = there.get(0);
        here.put(0, (byte) ~before);
        boolean same = there.get(0) != elsewhere;
        here.put(0, before);
        return same;
    }

    /** Also where backward has left what is not finite, and before the first one. */
    void clearGradient() {
        try (NDArray now = value.getGradient()) {
            Tensor alias = DjlTensors.alias(name, now);
            alias.copyFrom(Tensor.zeros(alias.dtype(), alias.shape()));
        }
    }

    /** Whether the gradient is zero in each element. */
    boolean hasZeroGradient() {
        try (NDArray absolute = gradient.abs();
                NDArray largest = absolute.max()) {
            return largest.toType(ai.djl.ndarray.types.DataType.FLOAT32, true).getFloat() == 0;
        }
    }
}
