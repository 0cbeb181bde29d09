package io.hvd.backend.shm;

import io.hvd.backend.shm.Layout.Counter;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/**
 * One rank's view of memory that the ranks of a host share. Counters only grow; whoever sees a counter's value sees
 * everything that its rank wrote before. By one thread at a time.
 */
final class Segment {
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final Layout layout;
    private final int rank;
    private final ByteBuffer memory;
    /** By parity, those of all ranks. */
    private final List<List<ByteBuffer>> stages = new ArrayList<>();

    private final List<ByteBuffer> results = new ArrayList<>();

    /** @param memory mapped, zero where nobody has written; lives as long as somebody holds it */
    Segment(Layout layout, int rank, ByteBuffer memory) {
        this.layout = layout;
        this.rank = rank;
        this.memory = memory.order(ByteOrder.nativeOrder());
        for (int parity = 0; parity < 2; parity++) {
            List<ByteBuffer> all = new ArrayList<>();
            for (int i = 0; i < layout.ranks(); i++) {
                all.add(part(layout.stage(parity, i)));
            }
            stages.add(List.copyOf(all));
            results.add(part(layout.result(parity)));
        }
    }

    private ByteBuffer part(int start) {
        return memory.slice(start, layout.stageBytes()).order(ByteOrder.nativeOrder());
    }

    int rank() {
        return rank;
    }

    int ranks() {
        return layout.ranks();
    }

    int stageBytes() {
        return layout.stageBytes();
    }

    /** This rank's own. */
    ByteBuffer stage(long round) {
        return stages(round).get(rank);
    }

    List<ByteBuffer> stages(long round) {
        return stages.get((int) (round & 1));
    }

    ByteBuffer result(long round) {
        return results.get((int) (round & 1));
    }

    /** Tells the others that this rank has come so far. */
    void publish(Counter counter, long round) {
        LONGS.setRelease(memory, layout.counter(counter, rank), round);
    }

    long read(Counter counter, int of) {
        return (long) LONGS.getAcquire(memory, layout.counter(counter, of));
    }

    /** A veto lasts until the next round but one. */
    void veto(long round) {
        LONGS.setRelease(memory, vetoPlace(rank, round), round);
    }

    /** Whether some rank has vetoed this round, after all have come to the point where they would have. */
    boolean isVetoed(long round) {
        for (int other = 0; other < layout.ranks(); other++) {
            if ((long) LONGS.getAcquire(memory, vetoPlace(other, round)) == round) {
                return true;
            }
        }
        return false;
    }

    /** Tells the others that a rank has died. */
    void tellLost(int place) {
        publish(Counter.LOST, place + 1L);
    }

    /** The place of a rank that this one or another has found dead. */
    OptionalInt lost() {
        for (int other = 0; other < layout.ranks(); other++) {
            long told = read(Counter.LOST, other);
            if (told > 0) {
                return OptionalInt.of((int) told - 1);
            }
        }
        return OptionalInt.empty();
    }

    private int vetoPlace(int of, long round) {
        return layout.counter(Counter.VETOED, of) + (int) (round & 1) * Long.BYTES;
    }
}
