package io.hvd.spi;

import io.hvd.kernel.Scale;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;

/**
 * The arithmetic of an allreduce on the elements: it multiplies them by {@code prescale}, converts them to {@code wire},
 * combines them by {@code op} over all ranks, converts them back, multiplies them by {@code postscale}, which is the
 * same on all ranks, and divides them by {@code divisor}.
 *
 * @param op SUM, MIN, MAX or PRODUCT; an average arrives as SUM with a divisor
 * @param divisor number of ranks over which an average is taken; else 1
 */
public record Reduction(ReduceOp op, DType wire, double prescale, double postscale, int divisor) {
    /** Makes a reduction without a divisor, which is then 1. */
    public Reduction(ReduceOp op, DType wire, double prescale, double postscale) {
        this(op, wire, prescale, postscale, 1);
    }

    /** Whether this is the reduction of these values, without a divisor. */
    public boolean is(ReduceOp itsOp, DType itsWire, double itsPrescale, double itsPostscale) {
        return op == itsOp && wire == itsWire && prescale == itsPrescale && postscale == itsPostscale && divisor == 1;
    }

    /** The scaling of the elements after they have been combined. */
    public Scale scale() {
        return new Scale(postscale, divisor);
    }

    /** This reduction without the factor before it, for elements that have been scaled already. */
    public Reduction prescaled() {
        return new Reduction(op, wire, 1, postscale, divisor);
    }

    /** This reduction without factors, for elements that are scaled elsewhere, before and after it. */
    public Reduction unscaled() {
        return new Reduction(op, wire, 1, 1);
    }
}
