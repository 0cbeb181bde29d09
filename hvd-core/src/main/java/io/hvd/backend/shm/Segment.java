package io.hvd.backend.shm;

import io.hvd.backend.shm.Layout.Counter;
import io.hvd.backend.shm.Places.Place;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/**
 * One rank's view of memory that the ranks of a host share. Counters only grow; whoever sees a counter's value sees
 * everything that its rank wrote before. By one thread at a time.
 */
final class Segment {
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final Layout layout;
    private final int rank;
    private final ByteBuffer memory;
    private final Places places;
    /** By parity. The first rank has the result of so few. */
    private final List<Place> besideCounters;

    /** @param memory mapped, zero where nobody has written; lives as long as somebody holds it */
    Segment(Layout layout, int rank, ByteBuffer memory) {
        this.layout = layout;
        this.rank = rank;
        this.memory = memory.order(ByteOrder.nativeOrder());
        this.places = new Places(whole(0), whole(1), layout.stageBytes());
        this.besideCounters = List.of(besideCounter(0), besideCounter(1));
    }

    private Place whole(long round) {
        int bytes = layout.stageBytes();
        return new Place(ofAll(of -> layout.stage(of, round), bytes), part(layout.result(round), bytes));
    }

    private Place besideCounter(long round) {
        return new Place(
                ofAll(of -> layout.besideCounter(Counter.PACKED, of, round), Layout.BESIDE_COUNTER),
                part(layout.besideCounter(Counter.REDUCED, 0, round), Layout.BESIDE_COUNTER));
    }

    private List<ByteBuffer> ofAll(IntUnaryOperator starts, int bytes) {
        return IntStream.range(0, layout.ranks())
                .mapToObj(of -> part(starts.applyAsInt(of), bytes))
                .toList();
    }

    private ByteBuffer part(int start, int bytes) {
        return memory.slice(start, bytes).order(ByteOrder.nativeOrder());
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

    /** Stages and result of a round that may need all of them. */
    Place place(long round) {
        return places.whole(round);
    }

    /** The place for a round in which all ranks know that no stage holds more than so many bytes. */
    Place place(long round, int bytes) {
        return bytes <= Layout.BESIDE_COUNTER ? besideCounters.get(Layout.parity(round)) : places.of(round, bytes);
    }

    /** Tells the others that this rank has come so far. */
    void publish(Counter counter, long round) {
        LONGS.setRelease(memory, layout.counter(counter, rank, round), round);
    }

    /** Whether a rank has come so far. */
    boolean hasCome(Counter counter, int of, long round) {
        return (long) LONGS.getAcquire(memory, layout.counter(counter, of, round)) >= round;
    }

    /** Whether some rank has vetoed this round, after all have come to the point where they would have. */
    boolean isVetoed(long round) {
        for (int other = 0; other < layout.ranks(); other++) {
            if (hasCome(Counter.VETOED, other, round)) {
                return true;
            }
        }
        return false;
    }

    /** Tells the others that a rank has died. */
    void tellLost(int place) {
        LONGS.setRelease(memory, layout.counter(Counter.LOST, rank, 0), place + 1L);
    }

    /** The place of a rank that this one or another has found dead. */
    OptionalInt lost() {
        for (int other = 0; other < layout.ranks(); other++) {
            long told = (long) LONGS.getAcquire(memory, layout.counter(Counter.LOST, other, 0));
            if (told > 0) {
                return OptionalInt.of((int) told - 1);
            }
        }
        return OptionalInt.empty();
    }
}
