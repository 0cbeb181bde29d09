package io.hvd.optimizer.torch.graph;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.VoidTensorHook;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Called by LibTorch with the gradient of an output of a collective, right before {@link AdjointHook} on the
 * same thread, which takes it.
 */
final class OutputHook extends VoidTensorHook {
    private final long[] shape;
    private final ScalarType type;

    /** The gradient by thread, since several may run the same graph backward at once. Empty if the loss does not use the output. */
    private final ThreadLocal<Tensor> gradient = new ThreadLocal<>();

    OutputHook(Tensor output) {
        this.shape = output.sizes().vec().get();
        this.type = output.scalar_type().intern();
    }

    @Override
    public void call(TensorBase gradient) {
        try (PointerScope scope = new PointerScope()) {
            this.gradient.set(gradient.defined() ? (Tensor) new Tensor(gradient).retainReference() : null);
        } finally {
            gradient.close();
        }
    }

    /**
     * The gradient, or zeros where the output has none. To be called once per pass, and the result to be closed.
     *
     * @param like any tensor on the output's device
     */
    Tensor taken(Tensor like) {
        Tensor taken = gradient.get();
        gradient.remove();
        return taken != null ? taken : like.new_zeros(shape).to(type);
    }
}
