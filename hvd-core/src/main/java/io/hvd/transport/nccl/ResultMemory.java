package io.hvd.transport.nccl;

import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.cuda.CudaDevice;
import io.hvd.cuda.DeviceStage;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.lang.ref.Cleaner;
import java.util.concurrent.locks.LockSupport;

/**
 * Makes the tensors of results on one GPU. A tensor's memory is used again when the tensor has been garbage-collected.
 * Only the communication thread uses this class; the GPU must be its current one.
 */
final class ResultMemory {
    private static final HvdLogger LOG = HvdLogger.of(ResultMemory.class);
    private static final Cleaner CLEANER = Cleaner.create();
    private static final long DEFAULT_STREAM = 0;
    /** The number of garbage collections after which GPU memory counts as really full. */
    private static final int MOST_COLLECTIONS = 5;

    private static final long CLEANING_NANOS = 10_000_000;

    private final Device device;
    private final BlockPool pool;

    /**
     * @param afterAllWork records an event after all work that the GPU's context has; null if that is not possible
     * @param keptBytes the most memory that is kept for later results
     */
    ResultMemory(CudaDevice cuda, Device device, CudaDevice.Recorder afterAllWork, long keptBytes) {
        this.device = device;
        this.pool = new BlockPool(
                bytes -> cuda.allocate(Owner.GPU_RESULTS, bytes),
                afterAllWork == null ? null : () -> cuda.recordEvent(afterAllWork),
                keptBytes);
    }

    /** Makes a tensor whose contents are undefined. */
    Tensor tensor(DType type, Shape shape) {
        long bytes = Math.multiplyExact(shape.elements(), (long) type.bytes());
        if (bytes == 0) {
            return Tensor.onDevice(0, device, DEFAULT_STREAM, type, shape);
        }
        pool.collect();
        DeviceStage memory = allocate(bytes);
        Object owner = new Object();
        BlockPool returnsTo = pool;
        CLEANER.register(owner, () -> returnsTo.giveBack(memory));
        return Tensor.onDevice(memory.address(), device, DEFAULT_STREAM, type, shape)
                .keeping(owner);
    }

    /**
     * Allocates memory. If the GPU is full, it frees what is kept for other results, and then runs the garbage
     * collector: results take little of Java's heap, so the heap alone would not cause a collection.
     */
    private DeviceStage allocate(long bytes) {
        int collections = 0;
        while (true) {
            try {
                return pool.take(bytes);
            } catch (HvdException full) {
                if (pool.empty()) {
                    continue;
                }
                if (collections == MOST_COLLECTIONS) {
                    throw full;
                }
                collections++;
                System.gc();
                LockSupport.parkNanos(CLEANING_NANOS);
            }
        }
    }

    /** Takes in the memory of tensors that have been collected. */
    void collect() {
        pool.collect();
    }

    BlockPool.Counts counts() {
        return pool.counts();
    }

    /** Frees what no tensor holds. */
    void close() {
        pool.empty();
        LOG.debug("memory of results on {}: {}", device, pool.counts());
    }
}
