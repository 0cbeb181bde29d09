package io.hvd.optimizer.torch;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.Pointer;

/**
 * A program that fills and frees blocks, each larger than any before, and prints how many page faults its thread had by that.
 * If the C library keeps what was freed, that is one for each page of the largest block, and if it maps each block anew, one
 * for each page of all blocks. None is as large as a huge page, which counts as one. Started by {@link FreedMemoryTest}.
 */
public final class GrowingBlocks {
    private static final int KIB = 1024;
    private static final int PAGE_BYTES = 4 * KIB;
    private static final long SMALLEST = 1024 * KIB;
    private static final long STEP = 48 * KIB;
    private static final int BLOCKS = 20;
    /** Place of a thread's faults without input in /proc/PID/stat, counted from the thread's state. */
    private static final int MINOR_FAULTS = 7;

    public static final long PAGES_OF_ALL = sizes().sum() / PAGE_BYTES;

    private GrowingBlocks() {}

    public static void main(String[] args) throws IOException {
        TorchRuntime.prepare();
        fill(SMALLEST); // loads what is needed for it
        long before = faults();
        sizes().forEach(GrowingBlocks::fill);
        System.out.println("faults " + (faults() - before));
    }

    private static LongStream sizes() {
        return LongStream.rangeClosed(1, BLOCKS).map(block -> SMALLEST + block * STEP);
    }

    private static void fill(long bytes) {
        Pointer block = Pointer.malloc(bytes);
        Pointer.memset(block, 1, bytes);
        Pointer.free(block);
    }

    private static long faults() throws IOException {
        String line = Files.readString(Path.of("/proc/thread-self/stat"));
        return Long.parseLong(line.substring(line.lastIndexOf(')') + 2).split(" ")[MINOR_FAULTS]);
    }
}
