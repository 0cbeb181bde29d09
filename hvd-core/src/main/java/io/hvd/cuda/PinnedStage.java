package io.hvd.cuda;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Kind;
import io.hvd.buffer.BufferLedger.Lease;
import io.hvd.buffer.BufferLedger.Owner;
import java.nio.ByteBuffer;

/**
 * Host memory that the GPU reads and writes by itself, so that copies can be queued on a stream. Data passes through it
 * between GPU memory and the CPU.
 */
public final class PinnedStage implements AutoCloseable {
    private final CudaCalls cuda;
    private final ByteBuffer buffer;
    private final Lease lease;

    PinnedStage(CudaCalls cuda, Owner owner, int bytes) {
        this.cuda = cuda;
        this.lease = BufferLedger.PROCESS.lease(owner, Kind.PINNED, bytes);
        this.buffer = lease.unlessFailing(() -> cuda.allocatePinned(bytes));
    }

    /**
     * The whole memory, in native byte order. It must not be used while a copy is queued or under way, nor after close.
     */
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

    /** Frees the memory; no copy may be under way. */
    @Override
    public void close() {
        cuda.freePinned(buffer);
        lease.giveBack();
    }
}
