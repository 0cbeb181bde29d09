package io.hvd.monitor;

/**
 * Decides when to look closer and what follows from what was seen. It knows no thread and no clock:
 * times are milliseconds of any clock that goes forward.
 */
final class Watch {
    /** What to do about the oldest wait. */
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

    Watch(MonitorSettings settings) {
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
        // Not later than this, because another wait may be the oldest by then.
        long longest = Math.min(warningMillis, limitMillis) / 2;
        return Math.min(longest, Math.min(untilWarning, limitMillis - waitedMillis));
    }
}
