package io.hvd;

import io.hvd.tensor.ReduceOp;

/**
 * How an allreduce treats its elements. All ranks must say the same.
 *
 * @param prescale factor applied before the ranks are combined
 * @param postscale factor applied to the result
 */
public record AllreduceOptions(ReduceOp op, double prescale, double postscale, Compression compression) {
    private static final AllreduceOptions AVERAGE = of(ReduceOp.AVERAGE);

    /** The default: average over the ranks, nothing scaled, nothing compressed. */
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
