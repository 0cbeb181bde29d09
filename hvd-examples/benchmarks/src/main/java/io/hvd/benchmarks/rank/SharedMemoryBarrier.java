package io.hvd.benchmarks.rank;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The fastest barrier for ranks of one host: each rank counts in a cache line of its own, and polls the other ranks'
 * lines until they have counted as far. If each rank has a core, no other way of keeping them in step takes less time.
 */
final class SharedMemoryBarrier {
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final int LINE = 128;
    /** The number of polls after which the rank yields its core. */
    private static final int MOST_LOOKS = 1000;

    private final ByteBuffer counts;
    private final PlaceInJob job;
    private long generation;

    /** @param folder a folder that all ranks see */
    SharedMemoryBarrier(Path folder, PlaceInJob job) {
        this.job = job;
        try (FileChannel file = FileChannel.open(
                folder.resolve("barrier"),
                StandardOpenOption.CREATE,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            counts = file.map(FileChannel.MapMode.READ_WRITE, 0, (long) LINE * job.size())
                    .order(ByteOrder.nativeOrder());
        } catch (IOException e) {
            throw new UncheckedIOException("the shared memory of the barrier", e);
        }
    }

    /** Waits for all ranks. */
    void await() {
        generation++;
        LONGS.setRelease(counts, LINE * job.rank(), generation);
        for (int other = 0; other < job.size(); other++) {
            awaitRank(LINE * other);
        }
    }

    private void awaitRank(int place) {
        for (int looks = 1; (long) LONGS.getAcquire(counts, place) < generation; looks++) {
            if (looks % MOST_LOOKS == 0) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }
}
