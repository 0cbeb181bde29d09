package io.hvd.tensor.cuda;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import jcuda.Pointer;
import jcuda.driver.CUstream;
import jcuda.runtime.cudaStream_t;

/**
 * Makes hvd's tensors of GPU memory that a program has from JCuda. The memory belongs to the program, which frees it
 * when the operations on it are done.
 */
@SuppressWarnings("exports") // a program that has such pointers requires their module itself
public final class CudaTensors {
    private static final long DEFAULT_STREAM = 0;

    private CudaTensors() {}

    /**
     * A tensor that is used on CUDA's default stream, which waits for all streams that were not made non-blocking.
     *
     * @param pointer a pointer to device memory: a {@code CUdeviceptr}, or the pointer that {@code cudaMalloc} has set
     * @param device the device of the memory, such as {@code hvd.device()}
     */
    public static Tensor of(Pointer pointer, Device device, DType type, Shape shape) {
        return Tensor.onDevice(new Visible(pointer).address(), device, DEFAULT_STREAM, type, shape);
    }

    /**
     * A tensor that is used on a stream: hvd's work waits for work that is queued there, and later work there for
     * hvd's.
     */
    public static Tensor of(Pointer pointer, Device device, CUstream stream, DType type, Shape shape) {
        return of(pointer, device, new cudaStream_t(stream), type, shape);
    }

    /** A tensor in GPU memory, with a stream of the runtime API. */
    public static Tensor of(Pointer pointer, Device device, cudaStream_t stream, DType type, Shape shape) {
        long handle = new VisibleStream(stream).handle();
        return Tensor.onDevice(new Visible(pointer).address(), device, handle, type, shape);
    }

    /** JCuda shows the handle of a stream to subclasses only. */
    private static final class VisibleStream extends cudaStream_t {
        VisibleStream(cudaStream_t other) {
            super(new CUstream(other));
        }

        long handle() {
            return getNativePointer();
        }
    }

    /** JCuda shows the address of a pointer to subclasses only. */
    private static final class Visible extends Pointer {
        Visible(Pointer other) {
            super(other);
        }

        long address() {
            return getNativePointer() + getByteOffset();
        }
    }
}
