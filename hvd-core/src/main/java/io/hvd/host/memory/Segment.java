package io.hvd.host.memory;

import io.hvd.host.memory.Layout.Counter;
import io.hvd.host.memory.Places.Place;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.BooleanSupplier;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/**
 * One rank's view of the memory that ranks share. Counters only grow. A rank that sees a counter's value
 * sees everything that the counter's rank wrote before. One thread at a time uses it.
 */
public final class Segment {
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final Layout layout;
    private final int rank;
    private final ByteBuffer memory;
    /** Null where ranks wait by {@link Backoff}. */
    private final Sleepers sleepers;

    private final Places places;
    /** Small places beside the counters, by parity of the round; the first rank's holds the result of so few bytes. */
    private final List<Place> besideCounters;

    /** @param memory mapped or direct memory, zero where no rank has written; it lives as long as it is reachable */
    public Segment(Layout layout, int rank, ByteBuffer memory) {
        this(layout, rank, memory, null);
    }

    /** @param sleepers those of all views of this memory; null if ranks are not to sleep until they are woken */
    public Segment(Layout layout, int rank, ByteBuffer memory, Sleepers sleepers) {
        this.layout = layout;
        this.sleepers = sleepers;
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

    public int stageBytes() {
        return layout.stageBytes();
    }

    /** The stages and the result of a round that may need all of their bytes. */
    Place place(long round) {
        return places.whole(round);
    }

    /** The stages and the result of a round in which all ranks know that no stage holds more than so many bytes. */
    Place place(long round, int bytes) {
        return bytes <= Layout.BESIDE_COUNTER ? besideCounters.get(Layout.parity(round)) : places.of(round, bytes);
    }

    /** Tells the others that this rank's counter has reached a round. */
    void publish(Counter counter, long round) {
        LONGS.setRelease(memory, layout.counter(counter, rank, round), round);
        if (sleepers != null) {
            VarHandle.fullFence();
            sleepers.published(rank, counter, () -> firstMissing(counter, round, 0) == layout.ranks());
        }
    }

    /** Whether a rank that waits is to sleep until it is woken. */
    boolean sleeps() {
        return sleepers != null;
    }

    /** Sleeps until a rank publishes a counter, at most so long. @param enough ends the wait before it begins */
    void sleepUntil(int of, BooleanSupplier enough, long nanos) {
        sleepers.untilRank(of, enough, nanos);
    }

    /** Sleeps until the last rank publishes a counter, at most so long. @param enough ends the wait before it begins */
    void sleepUntilAll(Counter counter, BooleanSupplier enough, long nanos) {
        sleepers.untilAll(counter, enough, nanos);
    }

    /**
     * The first rank that may not have reached a round.
     *
     * @param from all ranks before this one have reached it
     * @return the number of ranks if all have
     */
    int firstMissing(Counter counter, long round, int from) {
        if (sleepers == null) {
            return from;
        }
        int known = sleepers.known(counter, round);
        int other = Math.max(from, known);
        while (other < layout.ranks() && hasCome(counter, other, round)) {
            other++;
        }
        if (other > known) {
            sleepers.know(counter, round, other);
        }
        return other;
    }

    /** Whether a rank's counter has reached a round. */
    boolean hasCome(Counter counter, int of, long round) {
        return (long) LONGS.getAcquire(memory, layout.counter(counter, of, round)) >= round;
    }

    /** Whether some rank has vetoed this round; asked when all ranks have passed the point where they could veto it. */
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
