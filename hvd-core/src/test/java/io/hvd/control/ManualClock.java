package io.hvd.control;

import java.util.ArrayList;
import java.util.List;

/** Time that goes on only while somebody sleeps. */
final class ManualClock implements SelectorWait.Clock {
    final List<Long> naps = new ArrayList<>();
    long now = Long.MAX_VALUE - 1_000_000; // a clock may run over
    Runnable duringNap = () -> {};

    @Override
    public long nanoTime() {
        return now;
    }

    @Override
    public void park(long nanos) {
        naps.add(nanos);
        now += nanos;
        duringNap.run();
    }

    long slept() {
        return naps.stream().mapToLong(Long::longValue).sum();
    }
}
