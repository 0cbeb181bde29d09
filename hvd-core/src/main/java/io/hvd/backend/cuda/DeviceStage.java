package io.hvd.backend.cuda;

/** A range of GPU memory that hvd owns: what a batch is packed into, or the flag of a check. */
public final class DeviceStage implements AutoCloseable {
    private final CudaCalls cuda;
    private final long address;
    private final long bytes;

    DeviceStage(CudaCalls cuda, long bytes) {
        this.cuda = cuda;
        this.address = cuda.allocate(bytes);
        this.bytes = bytes;
    }

    /** A multiple of 256. */
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

    /** Waits for the work that uses the memory. */
    @Override
    public void close() {
        cuda.free(address);
    }
}
