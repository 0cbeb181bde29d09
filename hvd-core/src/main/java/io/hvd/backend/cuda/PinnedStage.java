package io.hvd.backend.cuda;

import java.nio.ByteBuffer;

/**
 * Host memory that the GPU reads and writes by itself, so that copies can be queued on a stream: on the way between GPU
 * memory and what only the CPU can do.
 */
public final class PinnedStage implements AutoCloseable {
    private final CudaCalls cuda;
    private final ByteBuffer buffer;

    PinnedStage(CudaCalls cuda, int bytes) {
        this.cuda = cuda;
        this.buffer = cuda.allocatePinned(bytes);
    }

    /** All of it, in native byte order; not to be touched between the queueing of a copy and its end, nor after close. */
    public ByteBuffer buffer() {
        return buffer;
    }

    /** Queues a copy of {@code bytes} from byte {@code at} of the buffer on. */
    public void copyToDevice(int at, long to, int bytes, long stream) {
        cuda.copyToDevice(to, buffer, at, bytes, stream);
    }

    /** Queues a copy of {@code bytes} into the buffer, from its byte {@code at} on. */
    public void copyFromDevice(long from, int at, int bytes, long stream) {
        cuda.copyToHost(buffer, at, from, bytes, stream);
    }

    /** No copy may be under way. */
    @Override
    public void close() {
        cuda.freePinned(buffer);
    }
}
