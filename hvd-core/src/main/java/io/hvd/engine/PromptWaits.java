package io.hvd.engine;

/**
 * Whether the program waits at once when it has submitted the last of a step. Then that thread carries the last batch out
 * by itself ({@link Shortcut}), and waking the communication thread for it would only cost two hand-overs. Thread-safe;
 * an expectation, which may be wrong.
 */
final class PromptWaits {
    /** Between the last submission and the wait; less than what two hand-overs cost. */
    private static final long PROMPT_NANOS = 200_000;
    /** How many steps in a row the program must have waited at once. */
    private static final int ENOUGH = 8;

    private volatile long submittedNanos;
    private volatile boolean first;
    private volatile int prompt;

    /** Something of the step. */
    void submitted(long nanos) {
        submittedNanos = nanos;
        first = true;
    }

    /** For something of the step. */
    void waits() {
        if (first) {
            first = false;
            prompt = System.nanoTime() - submittedNanos < PROMPT_NANOS ? Math.min(ENOUGH, prompt + 1) : 0;
        }
    }

    /** The step is complete, and nobody waits. */
    void nobodyWaits() {
        if (System.nanoTime() - submittedNanos >= PROMPT_NANOS) {
            prompt = 0;
        }
    }

    boolean areExpected() {
        return prompt == ENOUGH;
    }
}
