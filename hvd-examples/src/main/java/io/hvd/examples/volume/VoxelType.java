package io.hvd.examples.volume;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** The types of voxels that {@link Nifti} reads and writes, with their codes in the field {@code datatype} of NIfTI-1. */
public enum VoxelType {
    UINT8(2, 1, 0, 255),
    INT16(4, 2, Short.MIN_VALUE, Short.MAX_VALUE),
    INT32(8, 4, Integer.MIN_VALUE, Integer.MAX_VALUE),
    FLOAT32(16, 4),
    FLOAT64(64, 8),
    INT8(256, 1, Byte.MIN_VALUE, Byte.MAX_VALUE),
    UINT16(512, 2, 0, 0xffff),
    UINT32(768, 4, 0, 0xffffffffL),
    INT64(1024, 8, Long.MIN_VALUE, Long.MAX_VALUE);

    final int code;
    final int bytes;
    private final boolean whole;
    private final long least;
    private final long most;

    VoxelType(int code, int bytes) {
        this(code, bytes, false, 0, 0);
    }

    VoxelType(int code, int bytes, long least, long most) {
        this(code, bytes, true, least, most);
    }

    VoxelType(int code, int bytes, boolean whole, long least, long most) {
        this.code = code;
        this.bytes = bytes;
        this.whole = whole;
        this.least = least;
        this.most = most;
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
            case FLOAT32 -> from.getFloat();
            case FLOAT64 -> from.getDouble();
        };
    }

    /** Whether a voxel of this type can have the value; a whole number in range, unless the type is a float's. */
    boolean holds(float value) {
        double exact = value; // as a float, the greatest int would be one more than it is
        return !whole || (exact == Math.rint(exact) && exact >= least && exact < most + 1.0);
    }

    /** Writes a voxel that {@link #holds} says yes to. */
    void write(float value, ByteBuffer to) {
        switch (this) {
            case UINT8, INT8 -> to.put((byte) (int) value);
            case INT16, UINT16 -> to.putShort((short) (int) value);
            case INT32, UINT32 -> to.putInt((int) (long) value);
            case INT64 -> to.putLong((long) value);
            case FLOAT32 -> to.putFloat(value);
            case FLOAT64 -> to.putDouble(value);
        }
    }
}
