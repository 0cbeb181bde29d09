package io.hvd.tensor.cuda;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import org.bytedeco.javacpp.Pointer;

/**
 * Makes hvd's tensors of GPU memory that a program has from JavaCPP. The memory belongs to the program, which frees it
 * when the operations on it are done.
 */
@SuppressWarnings("exports") // a program that has such pointers requires their module itself
public final class JavaCppTensors {
    private JavaCppTensors() {}

    /**
     * A tensor that is used on CUDA's default stream, which waits for all streams that were not made non-blocking.
     *
     * @param pointer a pointer to device memory; the tensor begins at its position
     * @param device the device of the memory, such as {@code hvd.device()}
     * @throws HvdException if the pointer has a limit, and the tensor would go beyond it
     */
    public static Tensor of(Pointer pointer, Device device, DType type, Shape shape) {
        return of(pointer, device, null, type, shape);
    }

    /**
     * A tensor that is used on a stream: hvd's work waits for work that is queued there, and later work there for
     * hvd's.
     *
     * @param stream a {@code CUstream_st}; null is the default stream
     */
    public static Tensor of(Pointer pointer, Device device, Pointer stream, DType type, Shape shape) {
        long before = pointer.position() * pointer.sizeof();
        Tensor tensor =
                Tensor.onDevice(pointer.address() + before, device, stream == null ? 0 : stream.address(), type, shape);
        long left = pointer.limit() * pointer.sizeof() - before;
        // JavaCPP does not know the size of memory that others allocated: the limit is 0 then.
        if (pointer.limit() > 0 && tensor.bytes() > left) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "a tensor of " + type + " with shape " + shape + " has " + tensor.bytes() + " bytes, but from "
                            + pointer + " on there are " + left + "; give a smaller shape or a larger limit");
        }
        return tensor;
    }
}
