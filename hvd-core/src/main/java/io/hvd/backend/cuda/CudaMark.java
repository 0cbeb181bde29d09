package io.hvd.backend.cuda;

/** A place in a stream, by which it can be told how far the GPU has come. */
public final class CudaMark implements AutoCloseable {
    private final CudaCalls cuda;
    private final long event;

    CudaMark(CudaCalls cuda, long stream) {
        this.cuda = cuda;
        this.event = cuda.createEvent();
        cuda.recordEvent(event, stream);
    }

    public boolean isReached() {
        return cuda.isReached(event);
    }

    /** Blocks until the GPU has come so far. */
    public void await() {
        cuda.awaitEvent(event);
    }

    @Override
    public void close() {
        cuda.destroyEvent(event);
    }
}
