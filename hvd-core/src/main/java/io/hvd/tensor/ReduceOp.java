package io.hvd.tensor;

/**
 * How an allreduce combines the ranks' values; numbered as in Horovod.
 *
 * <pre>{@code
 * Tensor most = hvd.allreduce("most", counts, AllreduceOptions.of(ReduceOp.MAX));
 * }</pre>
 */
public enum ReduceOp {
    /** The sum over the ranks, divided by their number; of integers the exact quotient, rounded towards zero. */
    AVERAGE,
    /** The sum over the ranks. */
    SUM,
    /**
     * Adasum, which adds orthogonal vectors and averages parallel ones. It is an operation of an optimizer: {@code
     * DistributedOptimizer.wrap(inner).op(ReduceOp.ADASUM)} combines how far the ranks' steps have moved the parameters, and {@code new
     * io.hvd.optimizer.Adasum(hvd).allreduce("name", tensors)} combines any tensors. The collectives of a process set, such as
     * {@code allreduce} (HVD-201), refuse it.
     */
    ADASUM,
    /** The smallest value of any rank. */
    MIN,
    /** The largest value of any rank. */
    MAX,
    /** The product over the ranks. */
    PRODUCT;

    /** The operation of the data plane: an average is a sum until it is unpacked. */
    public ReduceOp onTheWire() {
        return this == AVERAGE ? SUM : this;
    }

    /**
     * The arithmetic that carries this operation out on the elements of a type. On the zeros and ones of bool, a sum is
     * the logical or, their maximum, and a product is the logical and, their minimum.
     */
    public ReduceOp arithmeticOn(DType type) {
        if (type != DType.BOOL) {
            return this;
        }
        return switch (this) {
            case SUM -> MAX;
            case PRODUCT -> MIN;
            default -> this;
        };
    }
}
