package io.hvd.job;

/**
 * The job that the threads of a spawn are the ranks of, or some of them. Each method but {@link #cancel} is called on a
 * rank's own thread.
 */
interface SpawnedJob {
    /** Joins as this thread's rank. */
    Membership join(int thread);

    /** This thread cannot join, so that the others need not wait for it. */
    void refused(int thread, Throwable cause);

    /** The rank's body is about to begin. */
    void begin(Membership membership);

    /** The body is through. */
    void leave(Membership membership);

    /** The body, or leaving, has thrown. It may not return. */
    void failed(int thread, Membership membership, Throwable cause);

    /**
     * The caller of spawn no longer wants the job: no rank waits for another one from here on. Called on the caller's
     * thread, at any time. It may not return.
     */
    void cancel(String why);
}
