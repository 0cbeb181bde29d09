package io.hvd.cuda;

/** A CUDA stream of hvd's own, and an event for waits between it and other streams. */
public final class CudaStream implements AutoCloseable {
    private final CudaCalls cuda;
    private final long handle;
    private final long event;

    CudaStream(CudaCalls cuda) {
        this.cuda = cuda;
        this.handle = cuda.createStream();
        this.event = cuda.createEvent();
    }

    public long handle() {
        return handle;
    }

    /** Work that is queued on this stream from now on starts after the work that is now queued on the other stream. */
    public void follow(long other) {
        cuda.recordEvent(event, other);
        cuda.holdUntil(handle, event);
    }

    /** Work that is queued on the other stream from now on starts after the work that is now queued on this stream. */
    public void holdBack(long other) {
        cuda.recordEvent(event, handle);
        cuda.holdUntil(other, event);
    }

    /** Records an event after all work that is now queued. */
    public CudaEvent recordEvent() {
        return CudaEvent.on(handle, cuda);
    }

    /** Records an event as {@link #recordEvent} does, which notes the time; that costs the GPU a little more. */
    public CudaEvent recordTimedEvent() {
        return CudaEvent.timedOn(handle, cuda);
    }

    /** Blocks until all queued work is done. */
    public void await() {
        cuda.awaitStream(handle);
    }

    @Override
    public void close() {
        cuda.destroyEvent(event);
        cuda.destroyStream(handle);
    }
}
