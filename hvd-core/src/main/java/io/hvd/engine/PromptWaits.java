package io.hvd.engine;

/**
 * Whether the program waits at once after it has submitted the last operation of a step. The waiting thread then
 * carries out the last batch itself ({@link Shortcut}), and waking the communication thread for it would only cost two
 * hand-overs. The answer is an expectation, which may be wrong. Thread-safe.
 */
final class PromptWaits {
    /** The longest time between the last submission and a prompt wait; less than two hand-overs cost. */
    private static final long PROMPT_NANOS = 200_000;
    /** The number of steps in a row in which the program must have waited at once. */
    private static final int ENOUGH = 8;

    private volatile long submittedNanos;
    private volatile boolean first;
    private volatile int prompt;

    /** The program has submitted an operation of the step. */
    void submitted(long nanos) {
        submittedNanos = nanos;
        first = true;
    }

    /** The program waits for an operation of the step. */
    void waits() {
        if (first) {
            first = false;
            prompt = System.nanoTime() - submittedNanos < PROMPT_NANOS ? Math.min(ENOUGH, prompt + 1) : 0;
        }
    }

    /** The program carries out what it submits, so that nothing is left to its next wait. */
    void nothingIsLeft() {
        first = false;
        prompt = 0;
    }

    /** The step is complete, and no thread waits. */
    void nobodyWaits() {
        if (System.nanoTime() - submittedNanos >= PROMPT_NANOS) {
            prompt = 0;
        }
    }

    boolean areExpected() {
        return prompt == ENOUGH;
    }
}
