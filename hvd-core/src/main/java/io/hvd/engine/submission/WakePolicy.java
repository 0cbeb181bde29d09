package io.hvd.engine.submission;

/**
 * Decides when fresh operations are worth waking the communication thread for, and when they are due. Belongs to the
 * {@link TensorQueue}, whose lock guards it.
 */
final class WakePolicy {
    private long thresholdBytes;
    private long lingerNanos;
    private int operations;
    private long bytes;
    private long oldestNanos;
    private boolean urgent;
    /** Whether the communication thread has been woken for what is fresh. */
    private boolean called;
    /** How many fresh operations of the static plan are worth waking the communication thread for. */
    private int enough = Integer.MAX_VALUE;

    /** See {@link TensorQueue#TensorQueue}. */
    WakePolicy(long thresholdBytes, long lingerNanos) {
        tune(thresholdBytes, lingerNanos);
    }

    /** Other values of the constructor's parameters hold from now on. */
    void tune(long threshold, long linger) {
        thresholdBytes = threshold;
        lingerNanos = linger;
    }

    /** An operation is about to be submitted. */
    void begin() {
        if (operations == 0) {
            oldestNanos = System.nanoTime();
        }
    }

    void added(long itsBytes) {
        operations++;
        bytes += itsBytes;
    }

    /**
     * Operations have been submitted.
     *
     * @param hurry true if a thread already waits for them
     * @param planned true if a static plan waits for all of them, so that a part of them moves nothing
     * @return true if the communication thread must be woken
     */
    boolean submitted(boolean hurry, boolean planned) {
        boolean nowUrgent = hurry || (!planned && bytes >= thresholdBytes);
        boolean wake = (nowUrgent && !urgent) || (!called && (!planned || operations >= enough));
        urgent |= nowUrgent;
        called |= wake;
        return wake;
    }

    /** A thread waits: fresh operations become due. Returns true if the communication thread must be woken. */
    boolean hurry() {
        boolean wake = operations > 0 && !urgent;
        urgent |= wake;
        called |= wake;
        return wake;
    }

    /**
     * The communication thread goes to sleep.
     *
     * @param wanted how many fresh operations are worth waking it for; 0 for any submission
     * @return false if that many are there already
     */
    boolean rest(int wanted) {
        enough = wanted;
        return operations < wanted;
    }

    /** Some operations are gone, and others are still fresh. */
    void left(int number) {
        operations = number;
    }

    /** Nothing is fresh any more; the next submission may wake the communication thread again. */
    void drained() {
        operations = 0;
        bytes = 0;
        urgent = false;
        called = false;
        enough = Integer.MAX_VALUE;
    }

    /** Time until fresh operations are due: 0 when they are, {@link Long#MAX_VALUE} when there are none. */
    long nanosUntilDue() {
        if (operations == 0) {
            return Long.MAX_VALUE;
        }
        return urgent ? 0 : Math.max(0, lingerNanos - (System.nanoTime() - oldestNanos));
    }
}
