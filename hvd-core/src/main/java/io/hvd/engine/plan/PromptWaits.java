package io.hvd.engine.plan;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Whether the program waits at once after it has submitted the last operation of a step. The waiting thread then
 * carries out the last batch itself ({@link CallerRuns}), and waking the communication thread for it would only cost two
 * hand-overs. The answer is an expectation, which may be wrong. Thread-safe.
 */
public final class PromptWaits {
    /** The longest time between the last submission and a prompt wait; less than two hand-overs cost. */
    private static final long PROMPT_NANOS = 200_000;
    /**
     * Where the ranks share cores, another rank may have had the core for a time slice in between. Nothing is lost by
     * the longer wait, since the communication thread would take the core from a rank that computes.
     */
    private static final long PROMPT_ON_SHARED_CORES_NANOS = 3_000_000;
    /** The number of steps in a row in which the program must have waited at once. */
    private static final int ENOUGH = 8;

    private final long promptNanos;
    private final LongSupplier clock;
    private final AtomicLong submittedNanos = new AtomicLong();
    private volatile boolean first;
    private volatile int prompt;

    /** @param shareCores whether there are fewer cores than ranks */
    public PromptWaits(boolean shareCores) {
        this(shareCores, System::nanoTime);
    }

    PromptWaits(boolean shareCores, LongSupplier clock) {
        this.clock = clock;
        this.promptNanos = shareCores ? PROMPT_ON_SHARED_CORES_NANOS : PROMPT_NANOS;
    }

    /** The program has submitted an operation of the step. A step may have hundreds, so this writes what has changed. */
    void submitted(long nanos) {
        submittedNanos.setRelease(nanos);
        if (!first) {
            first = true;
        }
    }

    /** The program waits for an operation of the step. */
    void waits() {
        if (first) {
            first = false;
            prompt = sinceSubmitted() < promptNanos ? Math.min(ENOUGH, prompt + 1) : 0;
        }
    }

    /** The step is complete, and no thread waits. */
    void nobodyWaits() {
        if (sinceSubmitted() >= promptNanos) {
            prompt = 0;
        }
    }

    private long sinceSubmitted() {
        return clock.getAsLong() - submittedNanos.get();
    }

    public boolean areExpected() {
        return prompt == ENOUGH;
    }
}
