package io.hvd.optimizer.torch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientSource;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.VoidTensorHook;

/**
 * Called by LibTorch in the middle of backward, once per parameter and pass, with the sum over all
 * uses of the parameter in that pass.
 */
final class GradientHook extends VoidTensorHook {
    private final GradientSlot slot;
    private final int parameter;
    private final GradientSource.Listener listener;
    private final boolean sparseAsDense;

    GradientHook(GradientSlot slot, int parameter, GradientSource.Listener listener, boolean sparseAsDense) {
        this.slot = slot;
        this.parameter = parameter;
        this.listener = listener;
        this.sparseAsDense = sparseAsDense;
    }

    @Override
    public void call(TensorBase gradient) {
        // Everything made here is given back at once: a reference that lives on makes LibTorch copy the gradient.
        try (PointerScope scope = new PointerScope()) {
            if (listener.passed(parameter)) {
                slot.collect(dense(new Tensor(gradient)));
                listener.ready(parameter);
            }
        } finally {
            gradient.close();
        }
    }

    private Tensor dense(Tensor gradient) {
        if (!gradient.is_sparse()) {
            return gradient;
        }
        if (sparseAsDense) {
            return gradient.to_dense();
        }
        throw new HvdException(
                ErrorId.UNSUPPORTED,
                "the gradient of \"" + slot.name() + "\" is sparse; make the TorchOptimizer with sparseAsDense = true,"
                        + " or the layer without sparse gradients");
    }
}
