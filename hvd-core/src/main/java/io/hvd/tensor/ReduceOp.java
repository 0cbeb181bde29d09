package io.hvd.tensor;

/** How an allreduce combines the ranks' values; numbered as in Horovod. */
public enum ReduceOp {
    /** The sum over the ranks, divided by their number; of integers the exact quotient, rounded towards zero. */
    AVERAGE,
    SUM,
    /** Named for Horovod's users, but refused: it is not implemented. */
    ADASUM,
    MIN,
    MAX,
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
