package io.hvd.cuda;

/** A CUDA event that has been recorded, and shows whether the GPU has reached that place. */
public final class CudaEvent implements AutoCloseable {
    private final CudaCalls cuda;
    private final long event;

    private CudaEvent(CudaCalls cuda, long event) {
        this.cuda = cuda;
        this.event = event;
    }

    static CudaEvent on(long stream, CudaCalls cuda) {
        return recorded(cuda, cuda.createEvent(), stream);
    }

    /** An event that notes the time at which the GPU reaches it. */
    static CudaEvent timedOn(long stream, CudaCalls cuda) {
        return recorded(cuda, cuda.createTimedEvent(), stream);
    }

    private static CudaEvent recorded(CudaCalls cuda, long event, long stream) {
        cuda.recordEvent(event, stream);
        return new CudaEvent(cuda, event);
    }

    static CudaEvent by(CudaDevice.Recorder recorder, CudaCalls cuda) {
        CudaEvent event = new CudaEvent(cuda, cuda.createEvent());
        try {
            recorder.record(cuda.context(), event.event);
            return event;
        } catch (RuntimeException | Error e) {
            event.close();
            throw e;
        }
    }

    public boolean isReached() {
        return cuda.isReached(event);
    }

    /** Blocks until the GPU has reached the event. */
    public void await() {
        cuda.awaitEvent(event);
    }

    /**
     * The milliseconds that the GPU has counted from another event to this one, to about half a microsecond. Both have
     * been {@link CudaStream#recordTimedEvent recorded with the time} and are reached.
     */
    public float millisSince(CudaEvent earlier) {
        return cuda.millisBetween(earlier.event, event);
    }

    @Override
    public void close() {
        cuda.destroyEvent(event);
    }
}
