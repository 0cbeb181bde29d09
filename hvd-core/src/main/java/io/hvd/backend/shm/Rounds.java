package io.hvd.backend.shm;

import io.hvd.backend.shm.Layout.Counter;
import io.hvd.error.ShutdownException;
import io.hvd.spi.Activities;
import java.nio.ByteBuffer;
import java.util.function.BooleanSupplier;

/**
 * One rank's way through the rounds of a segment. In every round each rank may put something on its stage, and says when
 * it has.
 *
 * <p>There are two stages for each rank and two results, for even and odd rounds: a rank fills its stage for round n + 2
 * when all have said that they are in round n + 1, which each does when it needs the stages of round n no more. Into the
 * result of round n + 2 it writes when all have said that they are in that round: none needs that of round n then. By one
 * thread at a time.
 */
final class Rounds {
    private final Segment segment;
    private final HostGroup group;
    private final Patience patience;
    private BooleanSupplier meanwhile = () -> false;
    private Activities activities = Activities.UNHEARD;
    private long round;

    Rounds(Segment segment, HostGroup group, Patience patience) {
        this.segment = segment;
        this.group = group;
        this.patience = patience;
    }

    void report(Activities to) {
        activities = to;
    }

    /** @param work done while this rank waits for another one; false if there is none */
    void meanwhile(BooleanSupplier work) {
        meanwhile = work;
    }

    Activities activities() {
        return activities;
    }

    Segment segment() {
        return segment;
    }

    /** The round that this rank is in. */
    long current() {
        return round;
    }

    /** Begins the next round. @return this rank's stage, to be filled */
    ByteBuffer next() {
        begin();
        return segment.place(round).stages().get(segment.rank());
    }

    /** The stage of the next round, which holds no more than so many bytes; all ranks know the number. */
    ByteBuffer next(int bytes) {
        begin();
        return segment.place(round, bytes).stages().get(segment.rank());
    }

    private void begin() {
        round++;
        await(Counter.PACKED, round - 1);
    }

    /** This rank has filled its stage, or has nothing to put there. */
    void packed() {
        segment.publish(Counter.PACKED, round);
    }

    /** This rank refuses what the others are about to do. */
    void veto(long of) {
        segment.publish(Counter.VETOED, of);
    }

    /** This rank's part of the result is there. */
    void reduced(long of) {
        segment.publish(Counter.REDUCED, of);
    }

    /** This rank has come to its last round. */
    void close() {
        group.lives().close();
    }

    /**
     * Until every rank has come so far.
     *
     * @throws ShutdownException if that will never be, because a rank has died
     */
    void await(Counter counter, long of) {
        for (int other = 0; other < segment.ranks(); other++) {
            await(counter, other, of);
        }
    }

    /** Until this rank has come so far. */
    void await(Counter counter, int other, long of) {
        if (!segment.hasCome(counter, other, of)) {
            long begun = activities.begin();
            patience.begin();
            while (!segment.hasCome(counter, other, of)) {
                boolean doubts = meanwhile.getAsBoolean() ? patience.worked() : patience.pause();
                if (doubts) {
                    look(counter, other, of);
                }
            }
            activities.end(Activities.WAIT_FOR_DATA, begun);
        }
    }

    /** A rank that finds another one dead tells the rest, which may be waiting for either of them. */
    private void look(Counter counter, int other, long of) {
        boolean ended = group.lives().hasEnded(other);
        if (segment.hasCome(counter, other, of)) {
            return; // it has ended after that
        }
        segment.lost().ifPresent(this::lose);
        if (ended) {
            lose(other);
        }
    }

    private void lose(int place) {
        segment.tellLost(place);
        throw group.without(place);
    }
}
