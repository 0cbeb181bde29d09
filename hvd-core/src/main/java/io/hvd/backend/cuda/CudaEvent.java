package io.hvd.backend.cuda;

/** A CUDA event that is recorded in a stream, and shows whether the GPU has reached that place. */
public final class CudaEvent implements AutoCloseable {
    private final CudaCalls cuda;
    private final long event;

    CudaEvent(CudaCalls cuda, long stream) {
        this.cuda = cuda;
        this.event = cuda.createEvent();
        cuda.recordEvent(event, stream);
    }

    public boolean isReached() {
        return cuda.isReached(event);
    }

    /** Blocks until the GPU has reached the event. */
    public void await() {
        cuda.awaitEvent(event);
    }

    @Override
    public void close() {
        cuda.destroyEvent(event);
    }
}
