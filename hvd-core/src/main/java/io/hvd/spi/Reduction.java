package io.hvd.spi;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;

/**
 * What happens to the elements of an allreduce on their way: multiplied by {@code prescale}, turned
 * into {@code wire}, combined by {@code op} over all ranks, turned back, multiplied by {@code postscale}, which is the same
 * on all ranks.
 *
 * @param op SUM, MIN, MAX or PRODUCT; an average arrives as SUM with 1/size in {@code postscale}
 */
public record Reduction(ReduceOp op, DType wire, double prescale, double postscale) {}
