package io.hvd.collective;

import io.hvd.kernel.FlatView;
import io.hvd.kernel.Reducer;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Reduction;
import io.hvd.spi.Transfers;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Allreduce over messages, chunk by chunk, with several chunks under way: while one is packed, added or waits for a
 * neighbour, the others keep the network busy. All ranks get the same bits, because each block of a chunk is completed
 * by one of them.
 *
 * <p>All ranks begin the same chunks in the same order, and the chunk's number is the tag of its messages. Only the
 * communication thread uses this class.
 */
final class RingAllreduce {
    /**
     * The largest number of chunks that {@link #run} keeps under way: as much as the sockets hold while neither rank is on
     * a core. {@link #begin} has no limit.
     */
    private static final int MOST_AT_ONCE = 32;

    private static final int STAGES_AT_ONCE = 4;

    /** The size of the first chunk where ranks may veto: it goes alone, while the network has nothing else to carry. */
    private static final int BALLOT_BYTES = 16 << 10;

    /** The first tag of the chunks. Smaller tags belong to other transfers, those from 8192 on to broadcasts. */
    private static final int FIRST_TAG = 16;
    /** The number of tags, more than chunks are ever under way. */
    private static final int TAGS = 4096;

    /** Blocks begin at a multiple of this, a line of a cache. */
    private static final int ALIGNED_BYTES = 64;

    private static final int SPARE_BYTES_PER_RANK = 8;
    private static final String ACTIVITY = "RING_ALLREDUCE";

    private final Transfers transfers;
    private final NetworkWait wait;
    private final int rank;
    private final int size;
    private final int chunkBytes;
    private final int atOnce;
    private final BufferPool buffers;
    private final Reducer reducer;
    private final Veto veto;
    private Activities activities = Activities.UNHEARD;
    private long begun;

    /** @param mostBytes the largest size of a chunk in bytes */
    RingAllreduce(Transfers transfers, NetworkWait wait, int rank, int size, int mostBytes, Reducer reducer) {
        this.transfers = transfers;
        this.wait = wait;
        this.rank = rank;
        this.size = size;
        this.reducer = reducer;
        this.veto = new Veto(rank, size);
        this.chunkBytes = (int) Math.min(mostBytes, (long) transfers.fastestBytes() * size);
        this.atOnce = (int) Math.min(MOST_AT_ONCE, (long) STAGES_AT_ONCE * mostBytes / chunkBytes);
        this.buffers = new BufferPool(chunkBytes + SPARE_BYTES_PER_RANK * (size + 1));
    }

    void report(Activities to) {
        activities = to;
    }

    /** The data of tensors that have to be packed. */
    AllreduceData packed(FlatView source, FlatView target, Reduction how) {
        return new AllreduceData.Packed(source, target, how, buffers, activities);
    }

    void run(AllreduceData tensors, long elements, Reduction how) {
        run(tensors, 0, elements, how);
    }

    /**
     * Runs an allreduce, unless a rank calls {@link #veto} instead.
     *
     * @param first the same data, whose first chunk is packed while a rank may still veto
     * @param rest may be in place
     * @return false if a rank has vetoed; then nothing is unpacked
     */
    boolean runUnlessVetoed(AllreduceData first, AllreduceData rest, long elements, Reduction how) {
        int count = ballot(elements, how);
        ByteBuffer data = first.pack(0, count);
        if (isVetoed(data, count, how, false)) {
            first.release(data);
            return false;
        }
        first.unpack(0, count, data);
        run(rest, count, elements, how);
        return true;
    }

    void veto(long elements, Reduction how) {
        ByteBuffer data = buffers.take();
        isVetoed(data, ballot(elements, how), how, true);
        buffers.give(data);
    }

    /** Begins to reduce a buffer in place; it moves on whenever it is asked whether it is done. */
    Completion begin(ByteBuffer data, int count, Reduction how) {
        AllreduceData tensors = new AllreduceData.InPlace(data, how.wire().bytes());
        Deque<Chunk> underWay = new ArrayDeque<>();
        int chunk = evenChunk(count, how.wire());
        for (int from = 0; from < count; from += chunk) {
            int part = Math.min(chunk, count - from);
            underWay.add(start(from, part, tensors.pack(from, part), how));
        }
        return () -> {
            underWay.removeIf(this::isFinished);
            return underWay.isEmpty();
        };
    }

    private void run(AllreduceData tensors, long start, long elements, Reduction how) {
        Deque<Chunk> underWay = new ArrayDeque<>();
        int chunk = evenChunk(elements - start, how.wire());
        for (long from = start; from < elements; from += chunk) {
            if (underWay.size() == atOnce) {
                finishOldest(underWay, tensors);
            }
            int count = (int) Math.min(chunk, elements - from);
            underWay.add(start(from, count, tensors.pack(from, count), how));
        }
        while (!underWay.isEmpty()) {
            finishOldest(underWay, tensors);
        }
    }

    private void finishOldest(Deque<Chunk> underWay, AllreduceData tensors) {
        await(underWay);
        Chunk oldest = underWay.remove();
        tensors.unpack(oldest.from(), oldest.count(), oldest.data());
        buffers.give(oldest.scratch());
    }

    /** Waits until the oldest chunk is done. */
    private void await(Deque<Chunk> underWay) {
        long since = activities.begin();
        wait.begin();
        while (!underWay.element().allreduce().isDone()) {
            underWay.forEach(chunk -> chunk.allreduce().isDone());
            wait.pause();
        }
        activities.end(ACTIVITY, since);
    }

    private int chunk(DType type) {
        return chunkBytes / type.bytes();
    }

    /** The size of as few chunks as there can be, none much smaller than the others: each takes as many messages. */
    private int evenChunk(long elements, DType type) {
        long chunks = ceiling(elements, chunk(type));
        long unit = (long) ALIGNED_BYTES / type.bytes() * size;
        return chunks < 2 ? chunk(type) : (int) Math.min(chunk(type), ceiling(ceiling(elements, chunks), unit) * unit);
    }

    private static long ceiling(long count, long each) {
        return (count + each - 1) / each;
    }

    private int ballot(long elements, Reduction how) {
        int chunk = chunk(how.wire());
        return (int)
                (elements <= chunk
                        ? elements
                        : Math.min(chunk, BALLOT_BYTES / how.wire().bytes()));
    }

    private boolean isVetoed(ByteBuffer data, int count, Reduction how, boolean byThisRank) {
        veto.write(data, count, how, byThisRank);
        Deque<Chunk> only = new ArrayDeque<>();
        only.add(start(0, count + veto.elements(how.wire()), data, how));
        await(only);
        buffers.give(only.remove().scratch());
        return veto.isRaised(data, count, how);
    }

    private record Chunk(long from, int count, ByteBuffer data, ByteBuffer scratch, Completion allreduce) {}

    private Chunk start(long from, int count, ByteBuffer data, Reduction how) {
        RingPosition position = new RingPosition(transfers, rank, size, FIRST_TAG + (int) (begun++ % TAGS));
        Blocks blocks = new Blocks(data, count, how.wire(), size);
        ByteBuffer scratch = buffers.take();
        boolean roundsAtEveryRank = how.wire().isHalf() && size > 2;
        Completion allreduce = roundsAtEveryRank
                ? new DirectChunkAllreduce(position, blocks, how, reducer, scratch)
                : new RingChunkAllreduce(position, blocks, how, reducer, scratch);
        return new Chunk(from, count, data, scratch, allreduce);
    }

    private boolean isFinished(Chunk chunk) {
        boolean there = chunk.allreduce().isDone();
        if (there) {
            buffers.give(chunk.scratch());
        }
        return there;
    }
}
