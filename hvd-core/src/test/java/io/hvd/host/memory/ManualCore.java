package io.hvd.host.memory;

import java.util.ArrayList;
import java.util.List;

/** A core of which time goes on only while somebody spins, yields or sleeps on it. */
final class ManualCore implements Backoff.Core {
    static final long SPIN_NANOS = 100;

    final List<String> did = new ArrayList<>();
    long now = 1;
    /** How long it takes until a thread that yields has the core again. */
    long yieldNanos = 1_000;

    int clockLooks;
    Runnable onSleep = () -> {};

    @Override
    public long nanoTime() {
        clockLooks++;
        return now;
    }

    @Override
    public void spin() {
        did.add("spin");
        now += SPIN_NANOS;
    }

    @Override
    public void giveWay() {
        did.add("yield");
        now += yieldNanos;
    }

    @Override
    public void sleep(long nanos) {
        did.add("sleep " + nanos / 1_000);
        now += nanos;
        onSleep.run();
    }
}
