package io.hvd.examples.volume;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** The types of voxels that {@link Nifti} reads and writes, with their codes in the field {@code datatype} of NIfTI-1. */
public enum VoxelType {
    UINT8(2, 1, 0, 0x1p8),
    INT16(4, 2, -0x1p15, 0x1p15),
    INT32(8, 4, -0x1p31, 0x1p31),
    FLOAT32(16, 4),
    FLOAT64(64, 8),
    INT8(256, 1, -0x1p7, 0x1p7),
    UINT16(512, 2, 0, 0x1p16),
    UINT32(768, 4, 0, 0x1p32),
    INT64(1024, 8, -0x1p63, 0x1p63),
    UINT64(1280, 8, 0, 0x1p64);

    final int code;
    final int bytes;
    private final boolean whole;
    private final double least;
    /** The first number above the range, which doubles have exactly, other than the last one in it. */
    private final double above;

    VoxelType(int code, int bytes) {
        this(code, bytes, false, 0, 0);
    }

    VoxelType(int code, int bytes, double least, double above) {
        this(code, bytes, true, least, above);
    }

    VoxelType(int code, int bytes, boolean whole, double least, double above) {
        this.code = code;
        this.bytes = bytes;
        this.whole = whole;
        this.least = least;
        this.above = above;
    }

    static Optional<VoxelType> ofCode(int code) {
        return Arrays.stream(values()).filter(type -> type.code == code).findFirst();
    }

    /** The codes of all types with their names, for messages. */
    static String codes() {
        return Arrays.stream(values())
                .map(type -> type.code + " (" + type.name().toLowerCase(Locale.ROOT) + ")")
                .collect(Collectors.joining(", "));
    }

    /** Reads the next voxel of a buffer. */
    double read(ByteBuffer from) {
        return switch (this) {
            case UINT8 -> from.get() & 0xff;
            case INT8 -> from.get();
            case INT16 -> from.getShort();
            case UINT16 -> from.getShort() & 0xffff;
            case INT32 -> from.getInt();
            case UINT32 -> from.getInt() & 0xffffffffL;
            case INT64 -> from.getLong();
            case UINT64 -> unsigned(from.getLong());
            case FLOAT32 -> from.getFloat();
            case FLOAT64 -> from.getDouble();
        };
    }

    /** Half of a number beyond the signed ones, with its last bit kept for the rounding, then twice that. */
    private static double unsigned(long bits) {
        return bits >= 0 ? bits : (bits >>> 1 | bits & 1) * 2.0;
    }

    /** Whether a voxel of this type can have the value; a whole number in range, unless the type is a float's. */
    boolean holds(float value) {
        return !whole || (value == Math.rint(value) && value >= least && value < above);
    }

    /** Writes a voxel that {@link #holds} says yes to. */
    void write(float value, ByteBuffer to) {
        switch (this) {
            case UINT8, INT8 -> to.put((byte) (int) value);
            case INT16, UINT16 -> to.putShort((short) (int) value);
            case INT32, UINT32 -> to.putInt((int) (long) value);
            case INT64 -> to.putLong((long) value);
            case UINT64 -> to.putLong(value < 0x1p63 ? (long) value : (long) (value - 0x1p63) | Long.MIN_VALUE);
            case FLOAT32 -> to.putFloat(value);
            case FLOAT64 -> to.putDouble(value);
        }
    }
}
