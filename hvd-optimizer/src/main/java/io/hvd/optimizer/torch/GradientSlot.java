package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.zeros_like;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Optional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** Where one parameter's gradient is collected for the allreduce and left for the optimizer. */
final class GradientSlot {
    private final String name;
    private final Tensor value;
    private final Tensor slot;
    private final io.hvd.tensor.Tensor alias;
    /** Null on the CPU. */
    private final ExchangeStream exchange;

    /** @param exchange of the GPU that the parameter is on; null on the CPU */
    GradientSlot(String name, Tensor value, ExchangeStream exchange) {
        this.name = name;
        this.value = value;
        this.slot = zeros_like(value.detach());
        this.exchange = exchange;
        this.alias =
                slot.is_cuda() ? TorchTensors.alias(name, slot, exchange.handle()) : TorchTensors.alias(name, slot);
    }

    String name() {
        return name;
    }

    Tensor value() {
        return value;
    }

    /** The averaged gradient, from {@link #becomeGradient} on. */
    Tensor average() {
        return slot;
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
        try (NoGradGuard guard = new NoGradGuard()) {
            Tensor earlier = detachedGradient();
            slot.copy_(gradient);
            if (earlier.defined()) {
                slot.add_(earlier);
            }
            multiplySlot(weight);
        }
        handOver();
    }

    private void multiplySlot(double weight) {
        if (weight == 0) {
            slot.zero_();
        } else if (weight != 1) {
            slot.mul_(new Scalar(weight));
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

    private void handOver() {
        if (exchange != null) {
            exchange.take();
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

    /** Puts what has been accumulated into the slot, or zeros. @param weight as in {@link #collect} */
    void stage(double weight) {
        try (NoGradGuard guard = new NoGradGuard()) {
            Tensor accumulated = value.grad();
            if (!accumulated.defined()) {
                slot.zero_();
            } else if (!isSlot(accumulated)) {
                slot.copy_(accumulated.is_sparse() ? accumulated.to_dense() : accumulated);
            }
            multiplySlot(weight);
        }
        handOver();
    }

    /** Whether there is a gradient in other memory than the slot, which backward must have put there. */
    boolean hasNewGradient() {
        Tensor gradient = value.grad();
        return gradient.defined() && !isSlot(gradient);
    }

    /** From here on there is no gradient. */
    void forget() {
        value.mutable_grad().put(new Tensor());
    }

    /** From here on {@code value.grad()} is the slot. */
    void becomeGradient() {
        if (!isSlot(value.grad())) {
            value.mutable_grad().put(slot);
        }
    }

    /**
     * The gradient of earlier passes, in memory of its own: if it still is the slot (nobody zeroed it
     * since the last step), LibTorch would add to the slot while it travels.
     */
    private Tensor detachedGradient() {
        Tensor gradient = value.grad();
        if (isSlot(gradient)) {
            gradient = gradient.clone();
            value.mutable_grad().put(gradient);
        }
        return gradient;
    }

    private boolean isSlot(Tensor gradient) {
        return gradient.defined()
                && !gradient.is_sparse()
                && gradient.data_ptr().address() == slot.data_ptr().address();
    }
}
