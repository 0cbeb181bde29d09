package io.hvd.optimizer.torch;

import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.tensor.Tensor;
import java.util.TreeMap;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.StringTensorDict;

/** LibTorch tensors as hvd sees them: the same memory, nothing copied. */
public final class TorchTensors {
    private TorchTensors() {}

    /**
     * Gives the same elements as an hvd tensor. It keeps the LibTorch tensor from becoming garbage, but is valid
     * only until that is closed, by hand or by a PointerScope, or gets another storage. On a GPU, hvd's work on it
     * waits for what is queued on LibTorch's current stream of the calling thread.
     *
     * @param name for messages
     * @throws HvdException if the tensor is not contiguous or has a type that hvd does not carry
     */
    public static Tensor alias(String name, org.bytedeco.pytorch.Tensor tensor) {
        return TensorViews.alias(name, tensor);
    }

    /**
     * Gives a tensor on a GPU that is filled on another stream than LibTorch's current one.
     *
     * @param stream handle of the CUDA stream that hvd's work waits for, and that waits for hvd's
     * @throws HvdException if the tensor is on the CPU, too
     */
    public static Tensor alias(String name, org.bytedeco.pytorch.Tensor tensor, long stream) {
        return TensorViews.alias(name, tensor, stream);
    }

    /** A module's parameters by name, sorted; for {@code HvdContext.broadcastParameters}. They may outlive the module. */
    public static TreeMap<String, Tensor> parameters(Module module) {
        return aliases(module.named_parameters());
    }

    /** A module's buffers (such as running statistics) by name, sorted; they may outlive the module. */
    public static TreeMap<String, Tensor> buffers(Module module) {
        return aliases(module.named_buffers());
    }

    /** A module's parameters and buffers (such as running statistics) by name, sorted. */
    public static TreeMap<String, Tensor> state(Module module) {
        TreeMap<String, Tensor> all = parameters(module);
        all.putAll(buffers(module));
        return all;
    }

    private static TreeMap<String, Tensor> aliases(StringTensorDict named) {
        TreeMap<String, Tensor> aliases = new TreeMap<>();
        // The program sees tensors of hvd, to which no PointerScope applies.
        TensorViews.references(named)
                .forEach((name, tensor) -> aliases.put(name, alias(name, tensor.retainReference())));
        return aliases;
    }
}
