package io.hvd.optimizer.torch.gradient;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.torch.graph.HookFailures;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.VoidTensorHook;
import org.bytedeco.pytorch.WeakIValue;

/**
 * Called by LibTorch in the middle of backward, once per parameter and pass, with the sum over all
 * uses of the parameter in that pass.
 *
 * <p>LibTorch keeps the hook as long as the parameter, whatever becomes of the optimizer, and native code holds
 * its Java side weakly. So there is one hook per parameter, which {@link #LIVING} keeps as long as there is the
 * parameter. It tells the optimizer that was made last for it, if that still exists.
 */
public final class GradientHook extends VoidTensorHook {
    /** By the parameter's address, which is no other one's as long as its hook refers to it. */
    private static final Map<Long, GradientHook> LIVING = new HashMap<>();

    /** Does not keep it. */
    private final WeakIValue parameter;

    private volatile WeakReference<Receiver> receiver;

    private GradientHook(WeakIValue parameter) {
        this.parameter = parameter;
    }

    /**
     * Where the gradients of one parameter go. To be held by the optimizer and by nobody else.
     *
     * @param index of the parameter, for the listener
     */
    record Receiver(GradientSlot slot, int index, GradientSource.Listener listener, boolean sparseAsDense) {}

    /** From now on the receiver is told of the gradients of its slot's parameter, and no earlier one any more. */
    static void tell(Receiver receiver) {
        synchronized (LIVING) {
            LIVING.values().removeIf(GradientHook::hasOutlivedItsParameter);
            Tensor parameter = receiver.slot().value();
            long address = parameter.unsafeGetTensorImpl().address();
            GradientHook hook = LIVING.computeIfAbsent(address, key -> registered(parameter));
            hook.receiver = new WeakReference<>(receiver);
        }
    }

    /** Keeps the hook beyond any {@code PointerScope} of the caller. */
    private static GradientHook registered(Tensor parameter) {
        try (IValue value = new IValue(parameter)) {
            GradientHook hook = new GradientHook(new WeakIValue(value).retainReference());
            parameter.register_hook(hook);
            return hook.retainReference();
        }
    }

    private boolean hasOutlivedItsParameter() {
        if (parameter.use_count() > 0) {
            return false;
        }
        parameter.releaseReference();
        return true;
    }

    /** Number of parameters that have a hook. */
    public static int living() {
        synchronized (LIVING) {
            LIVING.values().removeIf(GradientHook::hasOutlivedItsParameter);
            return LIVING.size();
        }
    }

    @Override
    public void call(TensorBase gradient) {
        try {
            Receiver told = receiver.get();
            if (told != null && told.listener().passed(told.index())) {
                collect(gradient, told);
                told.listener().ready(told.index());
            }
        } catch (HvdException e) {
            throw HookFailures.remembered(e);
        } finally {
            gradient.close();
        }
    }

    private static void collect(TensorBase gradient, Receiver told) {
        // Everything made here is given back at once: a reference that lives on makes LibTorch copy the gradient.
        try (PointerScope scope = new PointerScope()) {
            if (!told.slot().isSparse()) { // what is sparse LibTorch adds up, and it travels in the step
                Tensor whole = dense(new Tensor(gradient), told);
                told.slot().collect(whole, told.listener().weight(told.index()));
            }
        }
    }

    private static Tensor dense(Tensor gradient, Receiver told) {
        if (!gradient.is_sparse()) {
            return gradient;
        }
        if (told.sparseAsDense()) {
            return gradient.to_dense();
        }
        throw sparseRefused(told.slot().name());
    }

    /** The error for a sparse gradient that may not travel as a dense one. */
    static HvdException sparseRefused(String name) {
        return new HvdException(
                ErrorId.UNSUPPORTED,
                "the gradient of \"" + name
                        + "\" is sparse; name it among the sparse parameters of the TorchOptimizer, unless"
                        + " localParameters(...) names it, or make the TorchOptimizer with sparseAsDense = true, or the layer"
                        + " without sparse gradients");
    }
}
