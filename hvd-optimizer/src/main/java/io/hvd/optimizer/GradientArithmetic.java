package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/**
 * The arithmetic of mixed precision on the gradients of an optimizer, in {@link Parameter#gradient()}, between the allreduce
 * and the step. An optimizer that implements it does so with means of its own, as {@code TorchOptimizer} with
 * LibTorch's, on GPUs too; for any other one hvd reads and writes the tensors itself, which must be in host memory. The {@link ShardedState} of a
 * {@link ShardedOptimizer} may implement it likewise.
 */
public interface GradientArithmetic {
    /**
     * Multiplies every gradient.
     *
     * @return index of the first parameter whose gradient then contains an infinity or a NaN, or -1
     */
    int multiplyGradients(double factor);

    /**
     * Looks, and writes nothing.
     *
     * @return index of the first parameter whose gradient contains an infinity or a NaN, or -1
     */
    default int firstNonFinite() {
        return multiplyGradients(1);
    }

    /** The Euclidean norm of all gradients together, added up in float64. */
    double gradientNorm();

    /**
     * Makes every element that is larger than the limit the limit, and every one below its negative the negative. A NaN stays.
     *
     * @throws HvdException if this optimizer cannot do so, as by default
     */
    default void clampGradients(double limit) {
        throw new HvdException(
                ErrorId.UNSUPPORTED,
                "clipGradientValue(" + limit + "): " + getClass().getSimpleName()
                        + " has an arithmetic of its own for gradients, without clampGradients(limit)");
    }
}
