package io.hvd.monitor;

import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.PhaseView;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** The long work that this rank has announced. Phases may nest; the innermost one counts. Any thread may use it. */
final class Phases {
    private final LongSupplier nanoClock;
    private final Deque<Open> open = new ArrayDeque<>();
    private long lastEndNanos;
    private boolean everEnded;

    Phases(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    /** @return ends the phase; it may run more than once */
    synchronized Runnable enter(String what, Duration atMost) {
        if (what.isEmpty() || atMost.isNegative()) {
            throw new IllegalArgumentException("phase \"" + what + "\" of at most " + atMost
                    + ": it needs a name and a budget that is not negative");
        }
        Open phase = new Open(what, nanoClock.getAsLong() + atMost.toNanos());
        open.push(phase);
        return () -> leave(phase);
    }

    private synchronized void leave(Open phase) {
        if (open.remove(phase)) {
            lastEndNanos = nanoClock.getAsLong();
            everEnded = true;
        }
    }

    synchronized PhaseView view() {
        long now = nanoClock.getAsLong();
        long endedAgo = everEnded ? TimeUnit.NANOSECONDS.toMillis(now - lastEndNanos) : CallView.NOT_YET;
        Open current = open.peek();
        return current == null
                ? new PhaseView("", 0, endedAgo)
                : new PhaseView(current.what, TimeUnit.NANOSECONDS.toMillis(current.endNanos - now), endedAgo);
    }

    /** Compared by identity: two phases may have the same name and budget. */
    private static final class Open {
        private final String what;
        private final long endNanos;

        Open(String what, long endNanos) {
            this.what = what;
            this.endNanos = endNanos;
        }
    }
}
