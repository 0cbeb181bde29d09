package io.hvd.optimizer.exchange;

import java.util.List;

/** How the gradients of one bucket become those of all ranks; started and awaited once in each step. */
public sealed interface BucketReduction permits PreparedBucket, ReducedBucket {
    /** @param step number of the steps before this one in which gradients were reduced */
    void start(long step);

    /**
     * Starts several together, those that are plain allreduces in one message, on a thread that is going to wait for all of
     * them at once.
     */
    static void startAll(List<BucketReduction> all, long step) {
        for (int i = 0; i < all.size(); i++) {
            if (!(all.get(i) instanceof PreparedBucket)) {
                all.get(i).start(step);
            }
        }
        PreparedBucket.startTogether(all);
    }

    /** Waits until the gradients are the reduced ones, and throws what has failed. */
    void await();

    /** Size of the gradients. */
    long bytes();

    /** Size of the gradients that have been reduced since the start. */
    long bytesDone();

    /** The bytes that this rank has given to collectives since the start. */
    long bytesSent();

    /** Gives back what the bucket keeps; nothing of it is in flight. */
    void close();
}
