package io.hvd.optimizer.torch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LBFGS;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItemVector;

/**
 * A LibTorch optimizer whose gradients announce themselves through hooks while backward runs.
 *
 * <p>Each gradient is averaged in a slot of ours and then becomes {@code parameter.grad()}, which stays
 * an alias of the slot until gradients are zeroed. LibTorch itself needs no change.
 */
public final class TorchOptimizer implements Optimizer, GradientSource {
    private final org.bytedeco.pytorch.Optimizer inner;
    private final List<GradientSlot> slots = new ArrayList<>();
    private final List<Parameter> parameters = new ArrayList<>();
    private final List<GradientHook> hooks = new ArrayList<>();
    private final boolean sparseAsDense;

    /**
     * @param namedParameters of the module that {@code inner} steps, usually {@code module.named_parameters()}
     */
    public TorchOptimizer(org.bytedeco.pytorch.Optimizer inner, StringTensorDict namedParameters) {
        this(inner, namedParameters, false);
    }

    /**
     * @param sparseAsDense true to let sparse gradients (of embeddings) travel as dense ones; otherwise they are refused
     */
    public TorchOptimizer(
            org.bytedeco.pytorch.Optimizer inner, StringTensorDict namedParameters, boolean sparseAsDense) {
        TorchRuntime.shareCores();
        this.inner = inner;
        this.sparseAsDense = sparseAsDense;
        StringTensorDictItemVector items = namedParameters.items();
        for (long i = 0; i < items.size(); i++) {
            String name = items.get(i).key().getString();
            org.bytedeco.pytorch.Tensor value = items.get(i).access();
            if (value.requires_grad()) {
                GradientSlot slot = new GradientSlot(name, value);
                slots.add(slot);
                parameters.add(new Parameter(name, TorchTensors.alias(name, value), slot.alias()));
            }
        }
        requireSameAs(inner);
    }

    /** Every parameter that the optimizer steps must have a name, or its gradient would never be averaged. */
    private void requireSameAs(org.bytedeco.pytorch.Optimizer optimizer) {
        long stepped = 0;
        OptimizerParamGroupVector groups = optimizer.param_groups();
        for (long i = 0; i < groups.size(); i++) {
            stepped += groups.get(i).params().size();
        }
        if (stepped != slots.size()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the optimizer steps " + stepped + " parameters, the names given are for " + slots.size()
                            + " trainable ones: "
                            + slots.stream().map(GradientSlot::name).toList());
        }
    }

    @Override
    public List<Parameter> parameters() {
        return parameters;
    }

    @Override
    public void step() {
        inner.step().close();
    }

    /** Forgets the gradients; LibTorch makes new ones in the next backward. */
    @Override
    public void zeroGradients() {
        inner.zero_grad(true);
    }

    @Override
    public double learningRate() {
        return inner.param_groups().get(0).options().get_lr();
    }

    /** Sets the rate of every parameter group. */
    @Override
    public void learningRate(double rate) {
        OptimizerParamGroupVector groups = inner.param_groups();
        for (long i = 0; i < groups.size(); i++) {
            groups.get(i).options().set_lr(rate);
        }
    }

    /** Optimizers with the same settings and the same past write the same bytes, in any process. */
    @Override
    public byte[] saveState() {
        if (inner instanceof LBFGS) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "the state of LBFGS cannot be moved between ranks: it holds a line search of one rank");
        }
        return TorchArchive.writeState(inner);
    }

    @Override
    public void loadState(byte[] state) {
        TorchArchive.read(state, inner::load);
    }

    @Override
    public void listen(Listener listener) {
        for (int i = 0; i < slots.size(); i++) {
            GradientHook hook = new GradientHook(slots.get(i), i, listener, sparseAsDense);
            hooks.add(hook);
            slots.get(i).value().register_hook(hook);
        }
    }

    @Override
    public void stage(int parameter) {
        try (PointerScope scope = new PointerScope()) {
            slots.get(parameter).stage();
        }
    }

    @Override
    public void adopt(int parameter) {
        try (PointerScope scope = new PointerScope()) {
            slots.get(parameter).becomeGradient();
        }
    }
}
