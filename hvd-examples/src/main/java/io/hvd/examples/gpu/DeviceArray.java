package io.hvd.examples.gpu;

import static io.hvd.cuda.DriverCode.check;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/** GPU memory in the calling thread's current context, copied with JCuda's driver interface. */
public final class DeviceArray implements AutoCloseable {
    private final Visible pointer;
    private final long bytes;
    private final boolean owned;

    /** Allocates memory. */
    public DeviceArray(long bytes) {
        this.pointer = new Visible();
        this.bytes = bytes;
        this.owned = true;
        check("cuMemAlloc of " + bytes + " bytes", JCudaDriver.cuMemAlloc(pointer, bytes));
    }

    private DeviceArray(DeviceMemory memory) {
        this.pointer = new Visible(memory.address());
        this.bytes = memory.bytes();
        this.owned = false;
    }

    /** The memory of a tensor on the GPU, which belongs to its owner: closing the array does not free it. */
    public static DeviceArray over(Tensor tensor) {
        return new DeviceArray((DeviceMemory) tensor.memory());
    }

    /** Allocates memory and copies a direct buffer into it. */
    static DeviceArray of(ByteBuffer host) {
        DeviceArray array = new DeviceArray(host.capacity());
        array.write(Pointer.to(host), array.bytes);
        return array;
    }

    /** The pointer for arguments of kernels. */
    public CUdeviceptr pointer() {
        return pointer;
    }

    public long bytes() {
        return bytes;
    }

    Tensor tensor(Device device, DType type) {
        return tensor(device, type, 0, Shape.of((int) (bytes / type.bytes())));
    }

    /**
     * The whole array as a tensor for hvd's collectives.
     *
     * @param stream the stream on which the work that fills it is queued
     */
    public Tensor tensor(Device device, DType type, long stream, Shape shape) {
        return Tensor.onDevice(pointer.address(), device, stream, type, shape);
    }

    /** Queues a fill with one byte value. */
    public void fillAsync(int value, CUstream stream) {
        check("cuMemsetD8Async", JCudaDriver.cuMemsetD8Async(pointer, (byte) value, bytes, stream));
    }

    /** Copies from host memory to the start of the array, and waits for the copy. */
    public void write(Pointer host, long count) {
        check("cuMemcpyHtoD", JCudaDriver.cuMemcpyHtoD(pointer, host, count));
    }

    /** Copies from the start of the array to host memory, and waits for the copy, but not for other streams. */
    public void read(Pointer host, long count) {
        check("cuMemcpyDtoH", JCudaDriver.cuMemcpyDtoH(host, pointer, count));
    }

    ByteBuffer toHost() {
        return read(pointer, bytes);
    }

    /** Copies the bytes of a tensor on the GPU to the host. */
    static ByteBuffer read(Tensor tensor) {
        return read(at(((DeviceMemory) tensor.memory()).address()), tensor.bytes());
    }

    /** Queues a copy within the GPU. */
    static void copyOnDevice(long from, long to, long bytes, CUstream stream) {
        check("cuMemcpyDtoDAsync", JCudaDriver.cuMemcpyDtoDAsync(at(to), at(from), bytes, stream));
    }

    /** The pointer for an address: a null pointer moved by this number of bytes. */
    private static CUdeviceptr at(long address) {
        return new CUdeviceptr().withByteOffset(address);
    }

    private static ByteBuffer read(CUdeviceptr from, long bytes) {
        ByteBuffer host = ByteBuffer.allocateDirect((int) bytes).order(ByteOrder.nativeOrder());
        check("cuMemcpyDtoH", JCudaDriver.cuMemcpyDtoH(Pointer.to(host), from, bytes));
        return host;
    }

    @Override
    public void close() {
        if (owned) {
            check("cuMemFree", JCudaDriver.cuMemFree(pointer));
        }
    }

    /** Gives access to a pointer's address, which JCuda shows to subclasses only. */
    private static final class Visible extends CUdeviceptr {
        Visible() {}

        Visible(long address) {
            super(new CUdeviceptr(), address);
        }

        long address() {
            return getNativePointer() + getByteOffset();
        }
    }
}
