package io.hvd.examples.cuda;

import static io.hvd.backend.cuda.DriverCode.check;

import io.hvd.examples.gpu.DeviceArray;
import io.hvd.examples.gpu.UserStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import jcuda.Pointer;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.JCudaDriver;

/** Host memory that the GPU reads by itself, so that a copy can be queued among kernels. */
final class PinnedBuffer implements AutoCloseable {
    private final Pointer pointer = new Pointer();
    private final ByteBuffer bytes;
    private final CUevent sent = new CUevent();

    PinnedBuffer(long size) {
        check("cuMemAllocHost of " + size + " bytes", JCudaDriver.cuMemAllocHost(pointer, size));
        bytes = pointer.getByteBuffer(0, size).order(ByteOrder.nativeOrder());
        check("cuEventCreate", JCudaDriver.cuEventCreate(sent, CUevent_flags.CU_EVENT_DISABLE_TIMING));
    }

    /** All of it, once the GPU has read what was sent before. */
    ByteBuffer free() {
        check("cuEventSynchronize", JCudaDriver.cuEventSynchronize(sent));
        return bytes;
    }

    /** Queues a copy of its start. */
    void send(DeviceArray to, long count, UserStream stream) {
        check("cuMemcpyHtoDAsync", JCudaDriver.cuMemcpyHtoDAsync(to.pointer(), pointer, count, stream.queue()));
        check("cuEventRecord", JCudaDriver.cuEventRecord(sent, stream.queue()));
    }

    /** The GPU must have read what was sent. */
    @Override
    public void close() {
        check("cuEventDestroy", JCudaDriver.cuEventDestroy(sent));
        check("cuMemFreeHost", JCudaDriver.cuMemFreeHost(pointer));
    }
}
