package io.hvd.optimizer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;

/** DJL's arrays as hvd sees them: the same memory, nothing copied. */
final class DjlTensors {
    private DjlTensors() {}

    /**
     * Gives the same elements as an hvd tensor, which is valid until the array is closed.
     *
     * @param name for messages
     * @throws HvdException if the array is not in the host's memory, or hvd does not carry its type
     */
    static Tensor alias(String name, NDArray array) {
        Shape shape = Shape.of(array.getShape().getShape());
        DType type = typeOf(name, array.getDataType());
        return array.size() == 0
                ? Tensor.zeros(type, shape)
                : Tensor.wrap(bytes(name, array), type, shape).keeping(array);
    }

    /** The memory of an array. */
    static ByteBuffer bytes(String name, NDArray array) {
        if (array.getDevice().isGpu()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "DJL's array \"" + name + "\" is on " + array.getDevice()
                            + ", and hvd averages DJL's gradients in the host's memory: choose the CPU with"
                            + " optDevices(new Device[] {Device.cpu()}), or LibTorch through org.bytedeco:pytorch");
        }
        ByteBuffer bytes = array.toByteBuffer(true);
        if (!bytes.isDirect()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "the engine " + array.getManager().getEngine().getEngineName() + " gives a copy of the array \""
                            + name + "\" instead of its memory; hvd has been tried with DJL's engine PyTorch");
        }
        return bytes;
    }

    private static DType typeOf(String name, DataType type) {
        return switch (type) {
            case FLOAT32 -> DType.FLOAT32;
            case FLOAT64 -> DType.FLOAT64;
            case FLOAT16 -> DType.FLOAT16;
            case BFLOAT16 -> DType.BFLOAT16;
            case INT64 -> DType.INT64;
            case INT32 -> DType.INT32;
            case INT16 -> DType.INT16;
            case INT8 -> DType.INT8;
            case UINT16 -> DType.UINT16;
            case UINT8 -> DType.UINT8;
            case BOOLEAN -> DType.BOOL;
            default ->
                throw new HvdException(
                        ErrorId.UNSUPPORTED,
                        "DJL's array \"" + name + "\" has type " + type + ", which hvd does not carry");
        };
    }
}
