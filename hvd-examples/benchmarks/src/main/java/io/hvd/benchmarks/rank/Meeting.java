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
 * The least that ranks of one host can do together: each counts in a line of memory of its own, and looks at the others'
 * until they have come as far. With a core for each rank nothing can keep them in step for less.
 */
final class Meeting {
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final int LINE = 128;
    /** After that whoever shares the core gets it. */
    private static final int MOST_LOOKS = 1000;

    private final ByteBuffer counts;
    private final Job job;
    private long met;

    /** @param folder that all ranks see */
    Meeting(Path folder, Job job) {
        this.job = job;
        try (FileChannel file = FileChannel.open(
                folder.resolve("meeting"),
                StandardOpenOption.CREATE,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            counts = file.map(FileChannel.MapMode.READ_WRITE, 0, (long) LINE * job.size())
                    .order(ByteOrder.nativeOrder());
        } catch (IOException e) {
            throw new UncheckedIOException("the memory in which ranks meet", e);
        }
    }

    /** Waits for all. */
    void meet() {
        met++;
        LONGS.setRelease(counts, LINE * job.rank(), met);
        for (int other = 0; other < job.size(); other++) {
            await(LINE * other);
        }
    }

    private void await(int place) {
        for (int looks = 1; (long) LONGS.getAcquire(counts, place) < met; looks++) {
            if (looks % MOST_LOOKS == 0) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }
}
