package io.hvd.collective;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.spi.Activities;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The two staging buffers through which the host tensors of a group of ranks stream, small enough to stay in cache. */
public final class Stage {
    /** One spare element per rank: slices are padded to equal length, and a veto takes one more. */
    private static final int SPARE_BYTES_PER_RANK = 8;

    final int rank;
    final int size;

    /** Receives every copy, and the calls that send data. */
    Activities activities = Activities.UNHEARD;

    private final int bytes;
    private ByteBuffer front;
    private ByteBuffer back;

    /** @param stageBytes length of each buffer, besides some spare bytes */
    Stage(int rank, int size, int stageBytes) {
        this.rank = rank;
        this.size = size;
        this.bytes = stageBytes;
    }

    /** The first buffer, made when it is first needed. */
    ByteBuffer front() {
        front = front == null ? buffer() : front;
        return front;
    }

    /** The second buffer, for operations that cannot be done in place. */
    ByteBuffer back() {
        back = back == null ? buffer() : back;
        return back;
    }

    private ByteBuffer buffer() {
        return BufferLedger.PROCESS.direct(Owner.MPI, bytes + SPARE_BYTES_PER_RANK * (size + 1));
    }

    /** Number of elements that the stage holds at once. */
    int chunk(DType type) {
        return bytes / type.bytes();
    }

    /** Number of elements that each rank may have on the stage when those of all ranks lie there side by side. */
    int share(DType type) {
        return Math.max(1, chunk(type) / size);
    }

    /** Whether the stage holds so many elements for each rank at once. */
    boolean holds(long longest, DType type) {
        return longest <= share(type);
    }

    public static ByteBuffer part(ByteBuffer buffer, int from, int bytes) {
        return buffer.slice(from, bytes).order(ByteOrder.nativeOrder());
    }

    /** The places of pieces of these lengths that lie one behind the other. */
    static int[] oneBehindTheOther(int[] lengths) {
        int[] starts = new int[lengths.length];
        for (int i = 1; i < starts.length; i++) {
            starts[i] = starts[i - 1] + lengths[i - 1];
        }
        return starts;
    }

    /** Carries out a copy between tensors and stage, and records it. */
    void copy(String name, Runnable copy) {
        long begun = activities.begin();
        copy.run();
        activities.end(name, begun);
    }
}
