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

    /** Adds the ranks' elements. */
    public static AllreduceOptions sum() {
        return of(ReduceOp.SUM);
    }

    /** Combines the ranks' elements by any operation, unscaled and uncompressed. */
    public static AllreduceOptions of(ReduceOp op) {
        return new AllreduceOptions(op, 1.0, 1.0, Compression.NONE);
    }

    /** These options with a factor by which each rank multiplies its elements before they are combined. */
    public AllreduceOptions withPrescale(double factor) {
        return new AllreduceOptions(op, factor, postscale, compression);
    }

    /** These options with a factor by which the result is multiplied. */
    public AllreduceOptions withPostscale(double factor) {
        return new AllreduceOptions(op, prescale, factor, compression);
    }

    /** These options with another type on the wire. */
    public AllreduceOptions withCompression(Compression kind) {
        return new AllreduceOptions(op, prescale, postscale, kind);
    }
}
