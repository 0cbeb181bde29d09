package io.hvd.optimizer.torch.shard;

import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.graph.HookFailures;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.VoidTensorHook;
import org.bytedeco.pytorch.WeakIValue;

/**
 * What LibTorch calls in the middle of backward: with the gradient of a unit's output, before the unit's own backward, and with that of each
 * of its parameters, before it is added up.
 *
 * <p>Native code holds hooks weakly, so {@link #LIVING} keeps those of a unit as long as any of its parameters: a graph that may call them
 * refers to the parameters that it was made with.
 */
final class UnitHooks {
    /** The hooks of all units, which graphs of the process may call. */
    private static final List<UnitHooks> LIVING = new ArrayList<>();

    private final List<WeakIValue> parameters = new ArrayList<>();
    private final List<VoidTensorHook> hooks = new ArrayList<>();
    private final VoidTensorHook onOutput;

    private UnitHooks(Runnable backwardBegins) {
        this.onOutput = kept(new Told(backwardBegins));
    }

    /**
     * Registers the hooks of the parameters.
     *
     * @param parameters of the unit, also frozen ones
     * @param backwardBegins called with an output's gradient
     * @param gradientComes called with the gradient of each parameter that needs one
     */
    static UnitHooks of(List<Tensor> parameters, Runnable backwardBegins, Runnable gradientComes) {
        UnitHooks made = new UnitHooks(backwardBegins);
        for (Tensor parameter : parameters) {
            try (IValue value = new IValue(parameter)) {
                made.parameters.add(new WeakIValue(value).retainReference());
            }
            if (parameter.requires_grad()) {
                parameter.register_hook(made.kept(new Told(gradientComes)));
            }
        }
        synchronized (LIVING) {
            LIVING.removeIf(UnitHooks::haveOutlivedTheirParameters);
            LIVING.add(made);
        }
        return made;
    }

    private VoidTensorHook kept(VoidTensorHook hook) {
        hooks.add(hook.retainReference());
        return hook;
    }

    /** Has backward come by here before it goes through what has computed the output. */
    void watch(Tensor output) {
        output.register_hook(onOutput);
    }

    private boolean haveOutlivedTheirParameters() {
        if (parameters.stream().anyMatch(parameter -> parameter.use_count() > 0)) {
            return false;
        }
        parameters.forEach(WeakIValue::releaseReference);
        hooks.forEach(VoidTensorHook::releaseReference);
        return true;
    }

    private static final class Told extends VoidTensorHook {
        private final Runnable told;

        Told(Runnable told) {
            this.told = told;
        }

        @Override
        public void call(TensorBase gradient) {
            try (PointerScope scope = new PointerScope()) {
                told.run();
            } catch (HvdException e) {
                throw HookFailures.remembered(e);
            } finally {
                gradient.close();
            }
        }
    }
}
