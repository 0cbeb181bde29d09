package io.hvd.optimizer.torch.gradient;

import static org.bytedeco.pytorch.global.torch.zeros_like;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.graph.PlainCollectives;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.memory.TorchStreams;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** Where one parameter's gradient is collected for the allreduce and left for the optimizer. */
final class GradientSlot {
    private final String name;
    private final Tensor value;
    /** What the optimizer steps: the value itself, or a float32 copy of it. */
    private final Tensor master;
    /** Where the value lay when the slot was made. */
    private final ParameterPlace place;

    private final Tensor slot;
    private final long slotAddress;
    private final io.hvd.tensor.Tensor alias;
    private final UnreachedMark mark;
    /** Whether the slot was left with the mark, because no backward pass of this rank has reached the parameter. */
    private boolean unreached;
    /** Whether backward has added to the gradient that the last step has left in the slot. */
    private boolean addsToLastStep;
    /** Null on the CPU. */
    private final ExchangeStream exchange;
    /** Whether the gradient stays where LibTorch has it, and the slot has no rows and takes no memory. */
    private final boolean sparse;
    /** The gradient that all ranks' rows have been gathered in; 0 if there is none. */
    private long gathered;

    /**
     * @param master what the optimizer steps, in whose type the gradient travels; the value itself where it has no copy
     * @param exchange of the GPU that the parameter is on; null on the CPU
     * @param sparse whether the gradient travels as rows
     */
    GradientSlot(String name, Tensor value, Tensor master, ExchangeStream exchange, boolean sparse) {
        this.name = name;
        this.value = value.retainReference(); // as all that is kept here: no scope of the caller's may take it away
        this.master = master.retainReference();
        this.place = ParameterPlace.of(value);
        this.slot = made(value, master, sparse);
        this.slotAddress = sparse ? 0 : slot.data_ptr().address();
        this.exchange = exchange;
        this.sparse = sparse;
        this.alias = aliasOfSlot();
        this.mark = new UnreachedMark(slot);
    }

    private static Tensor made(Tensor value, Tensor master, boolean sparse) {
        try (PointerScope scope = new PointerScope()) {
            Tensor slot = sparse ? value.detach().narrow(0, 0, 0) : zeros_like(master.detach());
            return slot.retainReference();
        }
    }

    private io.hvd.tensor.Tensor aliasOfSlot() {
        if (!slot.is_cuda()) {
            return TensorViews.alias(name, slot);
        }
        return sparse
                ? TensorViews.withoutRows(name, value, exchange.handle())
                : TensorViews.alias(name, slot, exchange.handle());
    }

    /** @throws HvdException if the parameter has been moved or converted since */
    void requireInPlace() {
        place.requireStill(name, value);
    }

    String name() {
        return name;
    }

    Tensor value() {
        return value;
    }

    Tensor master() {
        return master;
    }

    private boolean hasMaster() {
        return master != value;
    }

    boolean isSparse() {
        return sparse;
    }

    /** The averaged gradient, from {@link #becomeGradient} on; of a sparse one its rows, each of which occurs once. */
    Tensor average() {
        Tensor gradient = sparse ? value.grad() : slot;
        return sparse && gradient.defined() && gradient.is_sparse() ? gradient._values() : slot;
    }

    /**
     * A collective: the gradient becomes the sum of all ranks' rows, each multiplied.
     *
     * @return bytes that this rank has sent
     */
    long gatherRows(PlainCollectives ranks, String name, double weight) {
        requireInPlace();
        try (NoGradGuard guard = new NoGradGuard()) {
            SparseGradient mine = SparseGradient.of(this.name, value, weight);
            Tensor gradient = mine.gathered(ranks, name).asGradientOf(value);
            value.mutable_grad().put(gradient);
            gathered = gradient.unsafeGetTensorImpl().address();
            return mine.bytes();
        }
    }

    /** Empty on the CPU. */
    Optional<ExchangeStream> exchange() {
        return Optional.ofNullable(exchange);
    }

    /** The slot's memory. */
    io.hvd.tensor.Tensor alias() {
        return alias;
    }

    /**
     * Puts the sum of earlier passes and this one into the slot. Called from a hook, before LibTorch
     * accumulates the new gradient itself.
     *
     * @param weight by which the sum is multiplied; for 0 the slot gets zeros, whatever the sum is
     */
    void collect(Tensor gradient, double weight) {
        requireStream();
        requireInPlace();
        try (NoGradGuard guard = new NoGradGuard()) {
            Tensor earlier = detachedGradient();
            slot.copy_(gradient);
            if (earlier.defined()) {
                slot.add_(earlier);
            }
            handOver(weight);
        }
    }

    private void handOver(double weight) {
        if (weight == 0) {
            slot.zero_();
        } else if (weight != 1) {
            slot.mul_(new Scalar(weight));
        }
        mark.avoid();
        unreached = false;
        leave();
    }

    private void leave() {
        if (exchange != null) {
            exchange.take();
        }
    }

    /** Multiplies what LibTorch has accumulated. */
    void multiplyAccumulated(double factor) {
        try (NoGradGuard guard = new NoGradGuard()) {
            Tensor gradient = detachedGradient();
            if (gradient.defined()) {
                gradient.mul_(new Scalar(factor));
            }
        }
    }

    /** hvd waits for the stream that was current when the optimizer was made; on another one it could be too early. */
    private void requireStream() {
        if (exchange == null) {
            return;
        }
        long found = TorchStreams.current(slot.device().index());
        long expected = exchange.compute();
        if (found != expected) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the gradient of \"" + name + "\" is computed on CUDA stream " + found
                            + ", but the TorchOptimizer was made on stream " + expected
                            + ". Make it, and run forward and backward, on the same stream");
        }
    }

    /**
     * Puts what has been accumulated into the slot, or the mark, which is zeros. The caller keeps LibTorch from recording it.
     *
     * @param weight as in {@link #collect}
     */
    void stage(double weight) {
        requireInPlace();
        Tensor accumulated = value.grad();
        boolean exists = accumulated.defined();
        if (sparse) {
            if (exists) {
                value.mutable_grad().put(accumulated.coalesce()); // so that each row occurs once
            }
        } else if (exists) {
            stage(accumulated, accumulated.is_sparse(), weight);
        } else {
            stageNothing(weight);
        }
    }

    /** The model's parameter has no gradient; its copy may still have that of the last step. */
    private void stageNothing(double weight) {
        if (hasMaster() && isSlot(master.grad())) {
            handOver(weight);
            return;
        }
        mark.put();
        unreached = true;
        leave();
    }

    /** As {@link #stage}, but the last backward pass of the step has left a gradient. */
    void stageKept(double weight, boolean sparseAsDense) {
        Tensor accumulated = value.grad();
        if (!accumulated.defined()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the gradient of \"" + name
                            + "\" has been removed between backward and step(), as by zero_grad() of LibTorch's own optimizer or"
                            + " module. Call zeroGradients() of the DistributedOptimizer, before backward");
        }
        boolean hasRows = accumulated.is_sparse();
        if (hasRows && !sparseAsDense) {
            throw GradientHook.sparseRefused(name);
        }
        requireInPlace();
        stage(accumulated, hasRows, weight);
    }

    /** Asks LibTorch nothing twice: with many parameters, a call for each of them in every step is felt. */
    private void stage(Tensor accumulated, boolean hasRows, double weight) {
        if (hasRows) {
            slot.copy_(accumulated.to_dense());
        } else if (accumulated.data_ptr().address() != slotAddress) {
            slot.copy_(accumulated);
        } else {
            addsToLastStep = true;
        }
        handOver(weight);
    }

    /** Whether there is a gradient in other memory than the slot, which backward must have put there. */
    boolean hasNewGradient() {
        Tensor gradient = value.grad();
        return gradient.defined()
                && !isSlot(gradient)
                && (!sparse || gradient.unsafeGetTensorImpl().address() != gathered);
    }

    boolean addsToLastStep() {
        return addsToLastStep;
    }

    /** What backward has computed on this rank, in the host's memory; empty if the slot alone has it, or the rows of all ranks. */
    Optional<io.hvd.tensor.Tensor> ownGradient() {
        Tensor gradient = value.grad();
        if (sparse || !gradient.defined() || isSlot(gradient)) {
            return Optional.empty();
        }
        Tensor dense = gradient.is_sparse() ? gradient.to_dense() : gradient;
        return Optional.of(TensorViews.alias(name, dense.detach().cpu().contiguous()));
    }

    /** From here on there is no gradient. */
    void forget() {
        value.mutable_grad().put(new Tensor());
    }

    /**
     * From here on the slot is the gradient of what is stepped; a copy's parameter then has none. A parameter that no backward pass of
     * any rank has reached has none either, so that the step leaves it as it is.
     */
    void becomeGradient() {
        addsToLastStep = false;
        if (unreached && mark.isThere()) {
            slot.zero_();
            unreached = false;
        } else if (!sparse) {
            master.mutable_grad().put(slot); // which costs less than to look whether it is there already
        }
        if (hasMaster()) {
            forget();
        }
    }

    /** Gives a float32 copy the gradient that backward has left at the parameter, if nobody has averaged it. */
    void bringToMaster() {
        if (hasMaster() && value.grad().defined()) {
            try (NoGradGuard guard = new NoGradGuard()) {
                stage(1);
            }
            becomeGradient();
        }
    }

    /** Rounds a float32 copy into the model. */
    void writeBack() {
        if (hasMaster()) {
            try (NoGradGuard guard = new NoGradGuard()) {
                value.copy_(master);
            }
        }
    }

    /**
     * The gradient of earlier passes, in memory of its own: if it still is the slot (nobody zeroed it
     * since the last step), LibTorch would add to the slot while it travels.
     */
    private Tensor detachedGradient() {
        Tensor gradient = value.grad();
        if (isSlot(gradient)) {
            addsToLastStep = true;
            gradient = gradient.clone();
            value.mutable_grad().put(gradient);
        }
        return gradient;
    }

    private boolean isSlot(Tensor gradient) {
        return !sparse
                && gradient.defined()
                && !gradient.is_sparse()
                && gradient.data_ptr().address() == slotAddress;
    }
}
