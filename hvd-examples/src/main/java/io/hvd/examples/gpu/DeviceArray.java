package io.hvd.examples.gpu;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import jcuda.Pointer;
import jcuda.runtime.JCuda;
import jcuda.runtime.cudaError;
import jcuda.runtime.cudaMemcpyKind;
import jcuda.runtime.cudaStream_t;

/** GPU memory of the calling thread's current device, allocated and copied with JCuda. */
final class DeviceArray implements AutoCloseable {
    private final Visible pointer = new Visible();
    private final long bytes;

    DeviceArray(long bytes) {
        this.bytes = bytes;
        check("cudaMalloc of " + bytes + " bytes", JCuda.cudaMalloc(pointer, bytes));
    }

    /** A copy of what a direct buffer holds. */
    static DeviceArray of(ByteBuffer host) {
        DeviceArray array = new DeviceArray(host.capacity());
        check(
                "cudaMemcpy to the GPU",
                JCuda.cudaMemcpy(array.pointer, Pointer.to(host), array.bytes, cudaMemcpyKind.cudaMemcpyHostToDevice));
        return array;
    }

    Tensor tensor(Device device, DType type) {
        return tensor(device, type, 0);
    }

    Tensor tensor(Device device, DType type, long stream) {
        return Tensor.onDevice(pointer.address(), device, stream, type, Shape.of((int) (bytes / type.bytes())));
    }

    /** Queues a fill with one byte value. */
    void fillAsync(int value, cudaStream_t stream) {
        check("cudaMemsetAsync", JCuda.cudaMemsetAsync(pointer, value, bytes, stream));
    }

    ByteBuffer toHost() {
        return read(pointer, bytes);
    }

    /** The bytes of a tensor on the GPU, whoever made it. */
    static ByteBuffer read(Tensor tensor) {
        long address = ((DeviceMemory) tensor.memory()).address();
        // A null pointer so many bytes further on.
        return read(new Pointer().withByteOffset(address), tensor.bytes());
    }

    /** Queues a copy within the GPU. */
    static void copyOnDevice(long from, long to, long bytes, long stream) {
        cudaStream_t queue = new cudaStream_t();
        Pointer target = new Pointer().withByteOffset(to);
        Pointer source = new Pointer().withByteOffset(from);
        check(
                "cudaMemcpyAsync",
                JCuda.cudaMemcpyAsync(target, source, bytes, cudaMemcpyKind.cudaMemcpyDeviceToDevice, queue));
    }

    private static ByteBuffer read(Pointer from, long bytes) {
        ByteBuffer host = ByteBuffer.allocateDirect((int) bytes).order(ByteOrder.nativeOrder());
        check(
                "cudaMemcpy from the GPU",
                JCuda.cudaMemcpy(Pointer.to(host), from, bytes, cudaMemcpyKind.cudaMemcpyDeviceToHost));
        return host;
    }

    @Override
    public void close() {
        check("cudaFree", JCuda.cudaFree(pointer));
    }

    static void check(String call, int code) {
        if (code != cudaError.cudaSuccess) {
            throw new IllegalStateException(
                    call + " failed: " + JCuda.cudaGetErrorName(code) + ", " + JCuda.cudaGetErrorString(code));
        }
    }

    /** JCuda keeps a pointer's address to its subclasses. */
    private static final class Visible extends Pointer {
        long address() {
            return getNativePointer() + getByteOffset();
        }
    }
}
