package io.hvd.backend.cuda;

/** A CUDA stream of hvd's own and one event with which it follows others. */
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

    /** What is queued on this stream from now on starts after what is now queued on the other. */
    public void follow(long other) {
        cuda.recordEvent(event, other);
        cuda.holdUntil(handle, event);
    }

    /** What is queued on the other stream from now on starts after what is now queued on this one. */
    public void holdBack(long other) {
        cuda.recordEvent(event, handle);
        cuda.holdUntil(other, event);
    }

    /** A mark behind all that is now queued. */
    public CudaMark mark() {
        return new CudaMark(cuda, handle);
    }

    /** Blocks until all that is queued is done. */
    public void await() {
        cuda.awaitStream(handle);
    }

    @Override
    public void close() {
        cuda.destroyEvent(event);
        cuda.destroyStream(handle);
    }
}
