package io.hvd.transport.nccl.natives;

import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.bytedeco.cuda.global.nccl;

/** NCCL's numbers for hvd's types and operations. They are constants, so this class loads no class of JavaCPP. */
public final class NcclCodes {
    private NcclCodes() {}

    /** True for the types that NCCL can reduce; it can move all types. */
    public static boolean reduces(DType type) {
        return type != DType.INT16 && type != DType.UINT16;
    }

    /** NCCL's number for a type that it can reduce. */
    static int type(DType type) {
        return switch (type) {
            case FLOAT32 -> nccl.ncclFloat32;
            case FLOAT64 -> nccl.ncclFloat64;
            case INT32 -> nccl.ncclInt32;
            case INT64 -> nccl.ncclInt64;
            case INT8 -> nccl.ncclInt8;
            case UINT8, BOOL -> nccl.ncclUint8;
            case FLOAT16 -> nccl.ncclFloat16;
            case BFLOAT16 -> nccl.ncclBfloat16;
            case INT16, UINT16 -> throw new IllegalArgumentException("NCCL has no type for " + type);
        };
    }

    static int operator(ReduceOp op) {
        return switch (op) {
            case SUM -> nccl.ncclSum;
            case MIN -> nccl.ncclMin;
            case MAX -> nccl.ncclMax;
            case PRODUCT -> nccl.ncclProd;
            case AVERAGE, ADASUM -> throw new IllegalArgumentException(op + " does not travel as such");
        };
    }

    /** The bytes of the factor as one element of a floating type. */
    static byte[] scalar(double factor, DType type) {
        ByteBuffer scalar = ByteBuffer.allocate(type.bytes()).order(ByteOrder.nativeOrder());
        switch (type) {
            case FLOAT64 -> scalar.putDouble(0, factor);
            case FLOAT32 -> scalar.putFloat(0, (float) factor);
            case FLOAT16 -> scalar.putShort(0, HalfFloat.toFloat16((float) factor));
            case BFLOAT16 -> scalar.putShort(0, HalfFloat.toBfloat16((float) factor));
            default -> throw new IllegalArgumentException(type + " is not scaled on the GPU");
        }
        return scalar.array();
    }

    /** Writes a version as text: {@code 21805} is 2.18.5. */
    public static String version(int code) {
        return code / 10_000 + "." + code / 100 % 100 + "." + code % 100;
    }

    /** Reads what {@link #version} has written. */
    static int code(String version) {
        String[] parts = version.split("\\.");
        return Integer.parseInt(parts[0]) * 10_000 + Integer.parseInt(parts[1]) * 100 + Integer.parseInt(parts[2]);
    }
}
