package io.hvd.optimizer.torch.gradient;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Where a parameter lies. Conversion and moving replace the memory of a LibTorch parameter, while hvd still sees the old one. */
record ParameterPlace(ScalarType type, String device, long address) {
    static ParameterPlace of(Tensor value) {
        return new ParameterPlace(
                value.scalar_type(),
                value.device().str().getString(),
                value.data_ptr().address());
    }

    /** @throws HvdException if the parameter lies elsewhere now */
    void requireStill(String name, Tensor value) {
        ScalarType found = value.scalar_type();
        if (value.data_ptr().address() != address || found.value != type.value) {
            throw moved(name, found, value.device().str().getString());
        }
    }

    private HvdException moved(String name, ScalarType found, String foundDevice) {
        boolean same = found.value == type.value && foundDevice.equals(device);
        return new HvdException(
                ErrorId.OPTIMIZER_MISUSE,
                "parameter \"" + name + "\" has been moved or converted since the TorchOptimizer was made: found "
                        + found.intern() + " on " + foundDevice + (same ? " in other memory" : "") + ", expected "
                        + type.intern() + " on " + device
                        + ". Call model.to(...) before you make the LibTorch optimizer and the TorchOptimizer");
    }
}
