package io.hvd.host.memory;

import io.hvd.error.ShutdownException;
import io.hvd.host.memory.Layout.Counter;
import io.hvd.spi.Activities;
import java.nio.ByteBuffer;
import java.util.function.BooleanSupplier;

/**
 * One rank's sequence of rounds through a segment. In every round each rank may write to its stage, and tells the
 * others when it has done so.
 *
 * <p>There are two stages for each rank and two results, for even and odd rounds. A rank fills its stage for round n +
 * 2 when all ranks have said that they are in round n + 1, which each rank says when it no longer needs the stages of
 * round n. It writes to the result of round n + 2 when all ranks have said that they are in that round, because no rank
 * needs the result of round n then. One thread at a time uses this class.
 */
public final class Rounds {
    private final Segment segment;
    private final MemoryGroup group;
    private final Backoff backoff;
    private BooleanSupplier meanwhile = () -> false;
    private Activities activities = Activities.UNHEARD;
    private long round;

    /**
     * @param segment this rank's view of the memory
     * @param group the ranks that share it
     * @param backoff how this rank waits
     */
    public Rounds(Segment segment, MemoryGroup group, Backoff backoff) {
        this.segment = segment;
        this.group = group;
        this.backoff = backoff;
    }

    void report(Activities to) {
        activities = to;
    }

    /** @param work is done while this rank waits for another one; it returns false if there is none */
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

    /**
     * Begins the next round, in which no rank writes more than so many bytes; all ranks give the same number.
     *
     * @return this rank's stage, to be filled
     */
    ByteBuffer next(int bytes) {
        begin();
        return segment.place(round, bytes).stages().get(segment.rank());
    }

    private void begin() {
        round++;
        await(Counter.PACKED, round - 1);
    }

    /** Tells the others that this rank has filled its stage, or has nothing to write there. */
    void packed() {
        segment.publish(Counter.PACKED, round);
    }

    /** Tells the others that this rank refuses what they are about to do. */
    void veto(long of) {
        segment.publish(Counter.VETOED, of);
    }

    /** Tells the others that the result has this rank's part of what one of them carries to other groups. */
    void ready(long of) {
        segment.publish(Counter.READY, of);
    }

    /** Tells the others that this rank's part of the result is complete. */
    void reduced(long of) {
        segment.publish(Counter.REDUCED, of);
    }

    /** Leaves the group after the last round: a rank that still waited for this one would take it for dead. */
    void close() {
        group.close();
    }

    /**
     * Waits until every rank's counter has reached a round.
     *
     * @throws ShutdownException if this can never happen, because a rank has died
     */
    void await(Counter counter, long of) {
        int other = segment.firstMissing(counter, of, 0);
        while (other < segment.ranks()) {
            await(counter, other, of, true);
            other = segment.firstMissing(counter, of, other + 1);
        }
    }

    /** Waits until one rank's counter has reached a round. */
    void await(Counter counter, int other, long of) {
        await(counter, other, of, false);
    }

    /** @param all whether the other ranks are waited for next */
    private void await(Counter counter, int other, long of, boolean all) {
        if (!segment.hasCome(counter, other, of)) {
            long begun = activities.begin();
            backoff.begin();
            while (!segment.hasCome(counter, other, of)) {
                boolean doubts = meanwhile.getAsBoolean() ? backoff.worked() : rest(counter, other, of, all);
                if (doubts) {
                    look(counter, other, of);
                }
            }
            activities.end(Activities.WAIT_FOR_DATA, begun);
        }
    }

    private boolean rest(Counter counter, int other, long of, boolean all) {
        if (!segment.sleeps()) {
            return backoff.pause();
        }
        BooleanSupplier enough = () -> segment.hasCome(counter, other, of) || group.hasEnded(other);
        return backoff.sleep(nanos -> {
            if (all) {
                segment.sleepUntilAll(counter, enough, nanos);
            } else {
                segment.sleepUntil(other, enough, nanos);
            }
        });
    }

    /**
     * Looks whether the other rank has died. A rank that finds another one dead tells the rest, which may be waiting
     * for either of them.
     */
    private void look(Counter counter, int other, long of) {
        boolean ended = group.hasEnded(other);
        if (segment.hasCome(counter, other, of)) {
            return; // it ended after it had reached the round
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
