package io.hvd;

import io.hvd.tensor.ReduceOp;

/**
 * Options of a reduction. All ranks must pass the same options for one operation.
 *
 * @param op the operation that combines the ranks' elements
 * @param prescale factor by which each rank's elements are multiplied before they are combined
 * @param postscale factor by which the result is multiplied
 * @param compression type in which the elements travel
 */
public record AllreduceOptions(ReduceOp op, double prescale, double postscale, Compression compression) {
    private static final AllreduceOptions AVERAGE = of(ReduceOp.AVERAGE);

    /** The default: the average over the ranks, without scaling and without compression. */
    public static AllreduceOptions average() {
        return AVERAGE;
    }

    public static AllreduceOptions sum() {
        return of(ReduceOp.SUM);
    }

    public static AllreduceOptions of(ReduceOp op) {
        return new AllreduceOptions(op, 1.0, 1.0, Compression.NONE);
    }

    public AllreduceOptions withPrescale(double factor) {
        return new AllreduceOptions(op, factor, postscale, compression);
    }

    public AllreduceOptions withPostscale(double factor) {
        return new AllreduceOptions(op, prescale, factor, compression);
    }

    public AllreduceOptions withCompression(Compression kind) {
        return new AllreduceOptions(op, prescale, postscale, kind);
    }
}
