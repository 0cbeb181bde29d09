package io.hvd.monitor;

import io.hvd.monitor.diagnosis.Standstill;

/**
 * Decides when the monitor looks whether the job stands still, and what it does about it. It uses no thread and no clock
 * of its own: times are milliseconds of any clock that goes forward.
 */
final class StandstillWatch {
    /** The time for which nothing has happened on any rank before the monitor looks. */
    private static final long PATIENCE_MILLIS = 5_000;
    /** A look takes every rank some milliseconds, which a job that computes for long should not pay often. */
    private static final long LONGEST_PAUSE_MILLIS = 30_000;

    /** The monitor's action after a look. */
    enum Step {
        NOTHING,
        SAY,
        END
    }

    private final long limitMillis;
    private final long patienceMillis;
    private long nextLook = Long.MIN_VALUE;
    private long pause;
    private Standstill seen = Standstill.NONE;
    private long seenSince;

    /** @param limitMillis the time of a certain standstill after which the job ends */
    StandstillWatch(long limitMillis) {
        this.limitMillis = limitMillis;
        this.patienceMillis = Math.min(PATIENCE_MILLIS, Math.max(1, limitMillis / 2));
        this.pause = patienceMillis;
    }

    /** @param stillMillis the time for which no rank has made a call or got a result, or 0 if a rank waits for none */
    boolean isTimeToLook(long now, long stillMillis) {
        if (stillMillis < patienceMillis) {
            seen = Standstill.NONE;
            pause = patienceMillis;
            return false;
        }
        return now >= nextLook;
    }

    /** @param stillMillis the same as in {@link #isTimeToLook} */
    Step decide(long now, long stillMillis, Standstill found) {
        boolean same = found.isSameAs(seen);
        if (!same) {
            seen = found;
            seenSince = now;
        }
        boolean certain = found.kind() == Standstill.Kind.CERTAIN;
        pause = certain ? patienceMillis : Math.min(LONGEST_PAUSE_MILLIS, 2 * pause);
        nextLook = now + Math.max(1, certain ? Math.min(pause, limitMillis - stillMillis) : pause);
        if (found.kind() == Standstill.Kind.NONE) {
            return Step.NOTHING;
        }
        if (!same) {
            return Step.SAY;
        }
        // The threads have stood still for all but the first moments of it, before the first look.
        boolean over = stillMillis >= limitMillis && now - seenSince >= limitMillis - 2 * patienceMillis;
        return certain && over ? Step.END : Step.NOTHING;
    }
}
