package io.hvd.cuda;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Kind;
import io.hvd.buffer.BufferLedger.Lease;
import io.hvd.buffer.BufferLedger.Owner;

/** A range of GPU memory that hvd owns: the memory into which a batch is packed, or the flag of a check. */
public final class DeviceStage implements AutoCloseable {
    private final CudaCalls cuda;
    private final long address;
    private final long bytes;
    private final Lease lease;

    DeviceStage(CudaCalls cuda, Owner owner, long bytes) {
        this.cuda = cuda;
        this.bytes = bytes;
        this.lease = BufferLedger.PROCESS.lease(owner, Kind.GPU, bytes);
        this.address = lease.unlessFailing(() -> cuda.allocate(bytes));
    }

    /** The address, a multiple of 256. */
    public long address() {
        return address;
    }

    public long bytes() {
        return bytes;
    }

    /** Queues the writing of zeros to all of it. */
    public void clear(long stream) {
        cuda.clear(address, bytes, stream);
    }

    /** Frees the memory; waits for the work that uses it. */
    @Override
    public void close() {
        cuda.free(address);
        lease.giveBack();
    }
}
