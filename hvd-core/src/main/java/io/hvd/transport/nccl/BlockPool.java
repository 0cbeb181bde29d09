package io.hvd.transport.nccl;

import io.hvd.cuda.CudaEvent;
import io.hvd.cuda.DeviceStage;
import io.hvd.error.HvdException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.LongFunction;
import java.util.function.Supplier;

/**
 * The memory of results on one GPU. Blocks that are no longer needed are kept for later results, because {@code
 * cuMemFree} waits for all work of the device.
 *
 * <pre>
 * in use  --giveBack-->  returned  --collect-->  resting  --event reached-->  free  --take-->  in use
 * </pre>
 *
 * <p>When a block comes back, the program may still have work queued that uses it, on streams that hvd does not know.
 * The block therefore rests until an event is reached that comes after all work of all streams at that time. Nobody
 * waits for this event.
 *
 * <p>Sizes are rounded up by an eighth at most, so that blocks fit again. Only the communication thread uses this
 * class, except for {@link #giveBack}.
 */
final class BlockPool {
    /** The step between sizes: the smallest block, and a multiple of the alignment that CUDA gives. */
    private static final long SMALLEST_BYTES = 512;
    /** Steps between one power of two and the next. */
    private static final int STEPS = 8;

    private final LongFunction<DeviceStage> allocator;
    /** Records an event after all work of the GPU; null if that is not possible, and blocks are then not kept. */
    private final Supplier<CudaEvent> afterAllWork;

    private final long mostBytes;
    private final Queue<DeviceStage> returned = new ConcurrentLinkedQueue<>();
    private final Queue<Resting> resting = new ArrayDeque<>();
    /** The free blocks, those that have been free for longest first. */
    private final Set<DeviceStage> free = new LinkedHashSet<>();
    /** The free blocks by their number of bytes. */
    private final Map<Long, ArrayDeque<DeviceStage>> freeBySize = new HashMap<>();

    private long freeBytes;
    private long allocated;
    private long reused;
    private long freed;

    /** Blocks that came back together. @param end the event after all work that may use them */
    private record Resting(CudaEvent end, List<DeviceStage> blocks) {}

    /**
     * Counts of what has happened so far.
     *
     * @param allocated blocks that were allocated by CUDA
     * @param reused blocks that were used again instead
     * @param freed blocks that were given back to CUDA
     * @param freeBytes bytes of blocks that are kept for later results
     */
    record Counts(long allocated, long reused, long freed, long freeBytes) {
        @Override
        public String toString() {
            return allocated + " blocks allocated, " + reused + " times one used again, " + freed + " freed, "
                    + freeBytes + " bytes kept";
        }
    }

    /**
     * @param allocator allocates a block of so many bytes
     * @param afterAllWork records an event after all work that any stream of the GPU has now; null if that is not
     *     possible
     * @param mostBytes bytes of free blocks that are kept; 0 keeps none
     */
    BlockPool(LongFunction<DeviceStage> allocator, Supplier<CudaEvent> afterAllWork, long mostBytes) {
        this.allocator = allocator;
        this.afterAllWork = afterAllWork;
        this.mostBytes = afterAllWork == null ? 0 : mostBytes;
    }

    /**
     * A block with room for so many bytes, whose contents are undefined and which no work uses any more.
     *
     * @throws HvdException if there is none and CUDA has no memory
     */
    DeviceStage take(long bytes) {
        long size = sizeOf(bytes);
        if (!freeBySize.containsKey(size)) {
            endRests();
        }
        ArrayDeque<DeviceStage> fitting = freeBySize.get(size);
        if (fitting == null) {
            DeviceStage block = allocator.apply(size);
            allocated++;
            return block;
        }
        reused++;
        return leaves(fitting.getLast());
    }

    /** The bytes of the block for so many bytes; exactly as many if the block is not going to be kept. */
    private long sizeOf(long bytes) {
        long step = Math.max(SMALLEST_BYTES, Long.highestOneBit(bytes) / STEPS);
        long size = (bytes + step - 1) / step * step;
        return size <= mostBytes ? size : bytes;
    }

    /** A block that no Java object stands for any more; any thread. */
    void giveBack(DeviceStage block) {
        returned.add(block);
    }

    /** Takes in the blocks that have come back. If there are too many of them, it frees some, and waits for the device. */
    void collect() {
        List<DeviceStage> blocks = new ArrayList<>();
        for (DeviceStage block = returned.poll(); block != null; block = returned.poll()) {
            if (block.bytes() <= mostBytes) {
                blocks.add(block);
            } else {
                free(block);
            }
        }
        if (!blocks.isEmpty()) {
            try {
                resting.add(new Resting(afterAllWork.get(), blocks));
            } catch (RuntimeException e) {
                returned.addAll(blocks); // for the next time
                throw e;
            }
        }
        endRests();
    }

    /** Makes those blocks free whose last work has ended. */
    private void endRests() {
        while (!resting.isEmpty() && resting.peek().end().isReached()) {
            Resting rested = resting.remove();
            rested.end().close();
            rested.blocks().forEach(this::enters);
        }
        if (freeBytes > mostBytes) {
            freeDownTo(mostBytes / 2);
        }
    }

    private void enters(DeviceStage block) {
        free.add(block);
        freeBySize.computeIfAbsent(block.bytes(), size -> new ArrayDeque<>()).add(block);
        freeBytes += block.bytes();
    }

    private DeviceStage leaves(DeviceStage block) {
        free.remove(block);
        ArrayDeque<DeviceStage> ofItsSize = freeBySize.get(block.bytes());
        ofItsSize.removeLastOccurrence(block);
        if (ofItsSize.isEmpty()) {
            freeBySize.remove(block.bytes());
        }
        freeBytes -= block.bytes();
        return block;
    }

    /** Frees those blocks first that have been free for longest, many at a time, because each time may wait long. */
    private void freeDownTo(long bytes) {
        Iterator<DeviceStage> oldest = List.copyOf(free).iterator();
        while (freeBytes > bytes) {
            free(leaves(oldest.next()));
        }
    }

    private void free(DeviceStage block) {
        block.close();
        freed++;
    }

    /**
     * Frees all blocks that are not in use; waits for the device.
     *
     * @return false if there are none
     */
    boolean empty() {
        long before = freed;
        for (DeviceStage block = returned.poll(); block != null; block = returned.poll()) {
            free(block);
        }
        for (Resting last = resting.poll(); last != null; last = resting.poll()) {
            last.end().close();
            last.blocks().forEach(this::free);
        }
        freeDownTo(0);
        return freed > before;
    }

    Counts counts() {
        return new Counts(allocated, reused, freed, freeBytes);
    }
}
