package io.hvd.spi;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Scale;

/**
 * What happens to the elements of an allreduce on their way: multiplied by {@code prescale}, turned
 * into {@code wire}, combined by {@code op} over all ranks, turned back, multiplied by {@code postscale}, which is the same
 * on all ranks, and divided by {@code divisor}.
 *
 * @param op SUM, MIN, MAX or PRODUCT; an average arrives as SUM with a divisor
 * @param divisor how many ranks an average is of; else 1
 */
public record Reduction(ReduceOp op, DType wire, double prescale, double postscale, int divisor) {
    /** Without a divisor. */
    public Reduction(ReduceOp op, DType wire, double prescale, double postscale) {
        this(op, wire, prescale, postscale, 1);
    }

    /** Whether it is without a divisor and made of these. */
    public boolean is(ReduceOp itsOp, DType itsWire, double itsPrescale, double itsPostscale) {
        return op == itsOp && wire == itsWire && prescale == itsPrescale && postscale == itsPostscale && divisor == 1;
    }

    /** What becomes of the elements that have been combined. */
    public Scale scale() {
        return new Scale(postscale, divisor);
    }

    /** This reduction for elements that have been scaled already: without the factor before. */
    public Reduction prescaled() {
        return new Reduction(op, wire, 1, postscale, divisor);
    }

    /** This reduction for elements that are scaled elsewhere, before and afterwards: without factors. */
    public Reduction unscaled() {
        return new Reduction(op, wire, 1, 1);
    }
}
