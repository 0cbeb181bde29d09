package io.hvd;

import io.hvd.tensor.DType;

/**
 * The type in which floating-point elements travel; the tensor itself keeps its own. Integers and
 * tensors that are no wider than the wire type are never converted. A single rank converts nothing.
 */
public enum Compression {
    NONE,
    /** IEEE binary16: the sum over the ranks must stay below 65,504, or it becomes infinite. */
    FP16,
    /** bfloat16: float32's range with 8 bits of precision. */
    BF16,
    /**
     * {@link #BF16} if the ranks are on several hosts, and {@link #NONE} if all are on one, whose memory is faster than
     * the conversion. One line of the log says which. {@link #FP16} and {@link #BF16} are applied on one host, too.
     */
    AUTO;

    DType wireFor(DType type) {
        boolean wide = type == DType.FLOAT32 || type == DType.FLOAT64;
        return switch (this) {
            case NONE -> type;
            case FP16 -> wide ? DType.FLOAT16 : type;
            case BF16, AUTO -> wide ? DType.BFLOAT16 : type;
        };
    }
}
