package io.hvd.train.safetensors;

import io.hvd.tensor.DType;
import java.util.Arrays;
import java.util.Optional;

/** The format's types of elements, under its names. Tensors of those that hvd has no type for are in files of other programs. */
enum SafetensorsType {
    BOOL(DType.BOOL),
    U8(DType.UINT8),
    I8(DType.INT8),
    U16(DType.UINT16),
    I16(DType.INT16),
    F16(DType.FLOAT16),
    BF16(DType.BFLOAT16),
    I32(DType.INT32),
    F32(DType.FLOAT32),
    I64(DType.INT64),
    F64(DType.FLOAT64),

    U32(32),
    U64(64),
    C64(64),
    F8_E4M3(8),
    F8_E4M3FNUZ(8),
    F8_E5M2(8),
    F8_E5M2FNUZ(8),
    F8_E8M0(8),
    F6_E2M3(6),
    F6_E3M2(6),
    F4(4);

    private static final int BITS_OF_A_BYTE = 8;

    private final int bits;
    /** Null for what hvd's tensors cannot hold. */
    private final DType type;

    SafetensorsType(DType type) {
        this.bits = BITS_OF_A_BYTE * type.bytes();
        this.type = type;
    }

    SafetensorsType(int bits) {
        this.bits = bits;
        this.type = null;
    }

    static SafetensorsType of(DType type) {
        return Arrays.stream(values())
                .filter(each -> each.type == type)
                .findFirst()
                .orElseThrow();
    }

    static Optional<SafetensorsType> of(String name) {
        return Arrays.stream(values()).filter(each -> each.name().equals(name)).findFirst();
    }

    /** Empty for what hvd's tensors cannot hold. */
    Optional<DType> dtype() {
        return Optional.ofNullable(type);
    }

    /**
     * Bytes that so many elements take; empty if they end inside a byte, which the format does not allow.
     *
     * @throws ArithmeticException if they cannot be counted
     */
    Optional<Long> bytes(long elements) {
        long all = Math.multiplyExact(elements, (long) bits);
        return all % BITS_OF_A_BYTE == 0 ? Optional.of(all / BITS_OF_A_BYTE) : Optional.empty();
    }
}
