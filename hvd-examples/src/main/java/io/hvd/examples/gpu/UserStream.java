package io.hvd.examples.gpu;

import static io.hvd.cuda.DriverCode.check;

import io.hvd.cuda.DriverCode;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** A CUDA stream of the program's own, which does not wait for the default stream, and its handle for hvd. */
public final class UserStream implements AutoCloseable {
    private final Visible queue = new Visible();
    private final CUevent event = new CUevent();

    public UserStream() {
        check("cuStreamCreate", JCudaDriver.cuStreamCreate(queue, CUstream_flags.CU_STREAM_NON_BLOCKING));
        check("cuEventCreate", JCudaDriver.cuEventCreate(event, CUevent_flags.CU_EVENT_DISABLE_TIMING));
    }

    /** The stream for calls of the driver. */
    public CUstream queue() {
        return queue;
    }

    /** The handle for tensors. */
    public long handle() {
        return queue.number();
    }

    /** Work that is queued here from now on starts after the work that is now queued on the other stream. */
    public void follow(UserStream other) {
        check("cuEventRecord", JCudaDriver.cuEventRecord(event, other.queue));
        check("cuStreamWaitEvent", JCudaDriver.cuStreamWaitEvent(queue, event, 0));
    }

    /** Looks without a pause until all queued work is done; returns the time of {@link System#nanoTime()}. */
    long nanosWhenDone() {
        check("cuEventRecord", JCudaDriver.cuEventRecord(event, queue));
        int code = CUresult.CUDA_ERROR_NOT_READY;
        while (code == CUresult.CUDA_ERROR_NOT_READY) {
            Thread.onSpinWait();
            code = DriverCode.of(() -> JCudaDriver.cuEventQuery(event));
        }
        long now = System.nanoTime();
        check("cuEventQuery", code);
        return now;
    }

    /** Blocks until all queued work is done. */
    public void await() {
        check("cuStreamSynchronize", JCudaDriver.cuStreamSynchronize(queue));
    }

    @Override
    public void close() {
        check("cuEventDestroy", JCudaDriver.cuEventDestroy(event));
        check("cuStreamDestroy", JCudaDriver.cuStreamDestroy(queue));
    }

    /** Gives access to a stream's handle, which JCuda shows to subclasses only. */
    private static final class Visible extends CUstream {
        long number() {
            return getNativePointer();
        }
    }
}
