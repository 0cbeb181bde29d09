package io.hvd;

import io.hvd.tensor.DType;

/**
 * The type in which floating-point elements travel; the tensor itself keeps its own. Integers and
 * tensors that are no wider than the wire type are never converted. If all ranks are on one host, tensors in host
 * memory are not converted either, because reading memory is faster than converting. One line of the log says so, and
 * {@code HVD_COMPRESS_ON_ONE_HOST=1} has them converted nevertheless.
 */
public enum Compression {
    NONE,
    /** IEEE binary16: the sum over the ranks must stay below 65,504, or it becomes infinite. */
    FP16,
    /** bfloat16: float32's range with 8 bits of precision. */
    BF16;

    DType wireFor(DType type) {
        boolean wide = type == DType.FLOAT32 || type == DType.FLOAT64;
        return switch (this) {
            case NONE -> type;
            case FP16 -> wide ? DType.FLOAT16 : type;
            case BF16 -> wide ? DType.BFLOAT16 : type;
        };
    }
}
