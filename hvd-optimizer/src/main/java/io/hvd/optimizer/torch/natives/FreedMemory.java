package io.hvd.optimizer.torch.natives;

import io.hvd.log.HvdLogger;
import org.bytedeco.javacpp.Pointer;

/**
 * Has the C library keep what LibTorch frees, because the next step asks for it again. glibc maps a block of at least its
 * mmap threshold by itself and unmaps it when it is freed, and gives the end of a heap back when more than its trim threshold
 * is free there. Each page that is used again then costs a page fault and is filled with zeros.
 *
 * <p>Both thresholds follow the largest mapped block that was freed, the second at twice its size. A step frees more than two of
 * its largest blocks at once, so it may give them back each time, and does unless something else happens to lie at the end of
 * the heap: it takes up to half as long again, for as long as the process lives. So the thresholds are raised to the highest
 * values that they take by themselves, before the first step. That needs addresses only; what is kept later is what a step has
 * needed, at most 64 MiB at the end of each heap.
 */
final class FreedMemory {
    private static final HvdLogger LOG = HvdLogger.of(FreedMemory.class);

    /** A block of more than 32 MiB leaves glibc's thresholds as they are; with the block's head it fills whole pages, of 64 KiB on some machines. */
    private static final long LARGEST_THAT_COUNTS = (32L << 20) - 2 * (64L << 10);

    private FreedMemory() {}

    /** Has no effect with another C library, or if the environment sets one of glibc's thresholds. */
    static void keep() {
        try {
            Pointer.free(Pointer.malloc(LARGEST_THAT_COUNTS));
        } catch (LinkageError e) {
            LOG.debug("freed memory goes back to the system, JavaCPP cannot be used: {}", e.toString());
        }
    }
}
