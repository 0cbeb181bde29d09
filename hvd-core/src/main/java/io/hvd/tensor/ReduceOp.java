package io.hvd.tensor;

/** How an allreduce combines the ranks' values; numbered as in Horovod. */
public enum ReduceOp {
    /** Sum over the ranks, divided by their number; of integers the exact quotient, cut off. */
    AVERAGE,
    SUM,
    /** Named for Horovod's users and refused: not there yet. */
    ADASUM,
    MIN,
    MAX,
    PRODUCT;

    /** What travels: an average is a sum until it is unpacked. */
    public ReduceOp onTheWire() {
        return this == AVERAGE ? SUM : this;
    }

    /**
     * The arithmetic that does this to the elements of a type. On the zeros and ones of bool a sum, the
     * logical or, is their maximum and a product, the logical and, their minimum.
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
