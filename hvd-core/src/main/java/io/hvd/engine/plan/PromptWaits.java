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
    /** How long the last batch of a step is left for the program's own thread to run. */
    private static final long LEFT_TO_PROGRAM_NANOS = 5_000_000;
    /**
     * With so many ranks on a core these times begin to grow with their number, as a step does: with 128 on each, every
     * communication thread would wake up several times within a step, only to see that the step is not over.
     */
    private static final int MANY_RANKS_ON_A_CORE = 8;
    /** The number of steps in a row in which the program must have waited at once. */
    private static final int ENOUGH = 8;

    private final long promptNanos;
    private final long leftNanos;
    private final LongSupplier clock;
    private final AtomicLong submittedNanos = new AtomicLong();
    private volatile boolean first;
    private volatile int prompt;

    /**
     * @param ranks on this host
     * @param cores of all of them together
     */
    public PromptWaits(int ranks, int cores) {
        this(ranks, cores, System::nanoTime);
    }

    PromptWaits(int ranks, int cores, LongSupplier clock) {
        int crowd = Math.max(1, ranks / (MANY_RANKS_ON_A_CORE * cores));
        this.clock = clock;
        this.promptNanos = ranks > cores ? crowd * PROMPT_ON_SHARED_CORES_NANOS : PROMPT_NANOS;
        this.leftNanos = crowd * LEFT_TO_PROGRAM_NANOS;
    }

    /** How long the last batch of a step is left for the program's own thread to run, if a wait for it is expected. */
    long leftNanos() {
        return leftNanos;
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
