package io.hvd.monitor;

/**
 * Decides when the monitor asks the other ranks, and what it does after their answers. It uses no thread and no clock
 * of its own: times are milliseconds of any clock that goes forward.
 */
final class StallWatch {
    /** The monitor's action after a look. */
    enum Step {
        NOTHING,
        WARN,
        END
    }

    private final long warningMillis;
    private final long limitMillis;
    private final long beatMillis;
    private long nextLook = Long.MIN_VALUE;
    private long nextWarning = Long.MIN_VALUE;

    StallWatch(MonitorSettings settings) {
        warningMillis = settings.warningMillis();
        limitMillis = settings.limitMillis();
        beatMillis = settings.beatMillis();
    }

    /** @param oldestMillis age of the oldest call that is known to wait anywhere */
    boolean isTimeToLook(long now, long oldestMillis) {
        return oldestMillis >= Math.min(warningMillis, limitMillis) && now >= nextLook;
    }

    /** @param waitedMillis the longest wait without an excuse, as found by looking */
    Step decide(long now, long waitedMillis) {
        Step step = Step.NOTHING;
        if (waitedMillis >= limitMillis) {
            step = Step.END;
        } else if (waitedMillis >= warningMillis && now >= nextWarning) {
            step = Step.WARN;
            nextWarning = now + warningMillis;
        }
        nextLook = now + Math.max(beatMillis, untilSomethingFollows(now, waitedMillis));
        return step;
    }

    private long untilSomethingFollows(long now, long waitedMillis) {
        long untilWarning = waitedMillis < warningMillis ? warningMillis - waitedMillis : nextWarning - now;
        // The next look is not later than this, because another wait may then be the oldest one.
        long longest = Math.min(warningMillis, limitMillis) / 2;
        return Math.min(longest, Math.min(untilWarning, limitMillis - waitedMillis));
    }
}
