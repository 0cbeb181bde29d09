package io.hvd.host.memory;

import io.hvd.host.memory.Layout.Counter;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Pieces;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The exchange that this rank carries between its group and the others. A rank that is no carrier has nothing under way. Only the
 * communication thread uses it.
 */
final class OuterExchange {
    /** How long a thread sleeps while the network works on. A thread that wakes up takes a core that others want. */
    private static final long PAUSE_NANOS = 20_000;

    private static final Completion DONE = () -> true;

    private final Rounds rounds;
    private final OuterLevel outer;
    private final Groups groups;
    private final List<Completion> underWay = new ArrayList<>();

    /** @param outer null if this rank is no carrier */
    OuterExchange(Rounds rounds, OuterLevel outer, Groups groups) {
        this.rounds = rounds;
        this.outer = outer;
        this.groups = groups;
        rounds.meanwhile(this::moveOn);
    }

    void report(Activities to) {
        if (outer != null) {
            outer.report(to);
        }
    }

    /**
     * Waits until the result of a round has all that this rank carries of it. Every rank of the group calls this when
     * its own part is there.
     */
    void awaitParts(long round) {
        if (!groups.allCarry()) {
            rounds.ready(round);
            if (outer != null) {
                rounds.await(Counter.READY, round);
            }
        }
    }

    /** The messages that leave a group if each of its ranks sends one to each other group; 0 if not all carry. */
    int messagesOfAll() {
        return groups.allCarry() ? groups.places(groups.own()) * (groups.count() - 1) : 0;
    }

    /** The part that this rank carries of a chunk that all groups reduce or receive. */
    Slice carried(int count, DType type, int fewBytes) {
        if (outer == null) {
            return Slice.NONE;
        }
        Segment segment = rounds.segment();
        return Slice.ofRank(segment.rank(), groups.allCarry() ? segment.ranks() : 1, count, type, fewBytes);
    }

    /** Begins to combine this group's part of a result with those of all groups. */
    Completion beginAllreduce(ByteBuffer part, Reduction how) {
        return part.capacity() == 0 ? DONE : add(outer.beginAllreduce(tensor(part, how.wire()), how.unscaled()));
    }

    /** Begins to copy bytes from the group {@code root} to all other groups. */
    Completion beginBroadcast(ByteBuffer bytes, int root) {
        return bytes.capacity() == 0 ? DONE : add(outer.beginBroadcast(tensor(bytes), root));
    }

    /**
     * Begins to give all groups the bytes of each group.
     *
     * @param bytes the bytes of all groups, one behind the other, of which this group's are there already
     * @param lengths number of bytes, by group
     */
    Completion beginAllgather(ByteBuffer bytes, long[] lengths) {
        if (outer == null) {
            return DONE;
        }
        int own = groups.own();
        int first = Math.toIntExact(Pieces.oneBehindTheOther(lengths).starts()[own]);
        ByteBuffer mine = bytes.slice(first, Math.toIntExact(lengths[own]));
        return add(outer.beginAllgather(tensor(mine), tensor(bytes), lengths));
    }

    /**
     * Begins to give every group its part of each group's bytes.
     *
     * @param sent number of bytes, by group
     * @param mine number of bytes that come from every group
     */
    Completion beginScatter(ByteBuffer from, long[] sent, ByteBuffer to, int mine) {
        if (outer == null) {
            return DONE;
        }
        long[] received = new long[sent.length];
        Arrays.fill(received, mine);
        long longest = Pieces.oneBehindTheOther(sent).longest();
        return add(outer.beginAlltoall(tensor(from), tensor(to), sent, received, longest));
    }

    private Completion add(Completion one) {
        underWay.add(one);
        return one;
    }

    private static Tensor tensor(ByteBuffer bytes) {
        return tensor(bytes, DType.UINT8);
    }

    private static Tensor tensor(ByteBuffer bytes, DType type) {
        return Tensor.wrap(bytes.order(ByteOrder.nativeOrder()), type, Shape.of(bytes.capacity() / type.bytes()));
    }

    /**
     * Moves on what is under way, and sleeps briefly if nothing has arrived.
     *
     * @return false if nothing is under way
     */
    private boolean moveOn() {
        if (!underWay.isEmpty() && !underWay.removeIf(Completion::isDone)) {
            Backoff.park(PAUSE_NANOS);
        }
        return !underWay.isEmpty();
    }

    /** Waits until one is done, and moves the others on meanwhile. */
    void await(Completion one) {
        long begun = rounds.activities().begin();
        while (!one.isDone()) {
            moveOn();
        }
        underWay.remove(one);
        rounds.activities().end(Activities.WAIT_FOR_DATA, begun);
    }

    /**
     * Combines the first part of an allreduce, unless a rank vetoes. The first rank of each group takes part even with
     * nothing to reduce, so that a veto can travel.
     *
     * @return false if a rank of another group has vetoed
     */
    boolean allreduceUnlessVetoed(ByteBuffer part, Reduction how) {
        return !votes(part) || outer.allreduceUnlessVetoed(tensor(part, how.wire()), how.unscaled());
    }

    /** Tells the other groups of a veto. */
    void veto(ByteBuffer part, Reduction how) {
        if (votes(part)) {
            outer.veto(part.capacity() / how.wire().bytes(), how.unscaled());
        }
    }

    private boolean votes(ByteBuffer part) {
        return outer != null && (part.capacity() > 0 || rounds.segment().rank() == 0);
    }

    void abandon() {
        if (outer != null) {
            outer.abandon();
        }
    }

    void close() {
        if (outer != null) {
            outer.close();
        }
    }
}
