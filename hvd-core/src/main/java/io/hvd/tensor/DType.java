package io.hvd.tensor;

import java.util.Optional;

/** Element types that travel between ranks; the order is part of the wire format. */
public enum DType {
    FLOAT32("float32", 4, float[].class),
    FLOAT64("float64", 8, double[].class),
    INT32("int32", 4, int[].class),
    INT64("int64", 8, long[].class),
    INT8("int8", 1, byte[].class),
    UINT8("uint8", 1, byte[].class),
    /** IEEE 754 binary16, kept in {@code short[]}. */
    FLOAT16("float16", 2, short[].class),
    /** The upper half of a binary32, kept in {@code short[]}. */
    BFLOAT16("bfloat16", 2, short[].class),
    /**
     * One byte, 0 or 1 and nothing else, kept in {@code byte[]}: the JDK moves bytes between an array and
     * a direct buffer in one piece, but {@code boolean[]} element by element only.
     */
    BOOL("bool", 1, byte[].class),
    INT16("int16", 2, short[].class),
    /** An unsigned 16-bit integer, kept in {@code short[]}; {@link Short#toUnsignedInt} gives the value. */
    UINT16("uint16", 2, short[].class);

    private final String label;
    private final int bytes;
    private final Class<?> arrayType;

    DType(String label, int bytes, Class<?> arrayType) {
        this.label = label;
        this.bytes = bytes;
        this.arrayType = arrayType;
    }

    /** Number of bytes of one element. */
    public int bytes() {
        return bytes;
    }

    /** The Java array that holds elements of this type on the heap. */
    public Class<?> arrayType() {
        return arrayType;
    }

    /** Whether this is a floating-point type, of 16 bits or more. */
    public boolean isFloating() {
        return this == FLOAT32 || this == FLOAT64 || isHalf();
    }

    /** True for the two 16-bit floating types. */
    public boolean isHalf() {
        return this == FLOAT16 || this == BFLOAT16;
    }

    /**
     * Why no back end can combine elements of this type by this operation; empty if they can. It is checked when an
     * operation is submitted.
     */
    public Optional<String> refuses(ReduceOp op) {
        return this == BOOL && op == ReduceOp.AVERAGE
                ? Optional.of("bool has no average: use SUM or MAX for a logical or, MIN or PRODUCT for a logical and,"
                        + " or count in an integer type")
                : Optional.empty();
    }

    /**
     * Why elements of this type cannot be multiplied by a factor; empty if they can. It is checked when an operation is
     * submitted.
     */
    public Optional<String> refusesScaling() {
        return this == BOOL
                ? Optional.of("bool takes no scale factor: it has no values but 0 and 1")
                : Optional.empty();
    }

    @Override
    public String toString() {
        return label;
    }
}
