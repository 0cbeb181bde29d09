package io.hvd.engine.plan;

/**
 * Decides what a rank does with the next batch of a static plan, from the state of its steps. It reads no clock and
 * takes no lock.
 */
enum StepDecision {
    /** The rank carries out the batch. */
    RUN,
    /** The rank vetoes the batch, for which the other ranks come as well. */
    VETO,
    /** The rank vetoes the batch, and tells the other ranks that it leaves the plan. */
    LEAVE;

    /** A plan that is left after fewer steps than this does not suit some rank: its step is cut anew. */
    private static final int FEW_STEPS = 3;
    /** How long an operation may lie in an incomplete batch before it is negotiated. */
    private static final long PATIENCE_NANOS = 1_000_000_000;

    /**
     * @param left whether the rank is asked for something that is not planned
     * @param proposed whether there is a better cut of the step
     */
    static StepDecision of(boolean left, boolean proposed) {
        if (left) {
            return LEAVE;
        }
        return proposed ? VETO : RUN;
    }

    /**
     * Time in nanoseconds until the rank gives up an incomplete batch.
     *
     * @param lyingNanos how long an operation has been lying in it; 0 if there is none
     * @param overdueNanos time until the answer to an operation with a limit is overdue
     */
    static long patienceNanos(long lyingNanos, long overdueNanos) {
        return Math.min(Math.max(0, PATIENCE_NANOS - lyingNanos), overdueNanos);
    }

    /**
     * Whether the plan holds back what the program waits for.
     *
     * @param awaited whether a thread waits for an operation that the plan may hold back
     * @param due whether the next batch is complete
     */
    static boolean isHeldBack(boolean awaited, boolean due, long patienceNanos) {
        return (awaited && !due) || patienceNanos == 0;
    }

    /**
     * Whether a thread of the program may be left to carry out the next batch as it waits. The answer is no once the
     * steps have paused, so that the communication thread does not wake up every few milliseconds.
     *
     * @param blocking whether the batch was completed last time in a call that waits for it
     */
    static boolean isLeftToProgram(boolean lastOfStep, boolean blocking, long sinceSubmissionNanos) {
        return lastOfStep && !blocking && sinceSubmissionNanos < PATIENCE_NANOS;
    }

    /** Whether a plan that is left has held for long enough to suit all ranks. */
    static boolean hasSuited(long batchesRun, int batchesInStep) {
        return batchesRun >= (long) FEW_STEPS * batchesInStep;
    }
}
