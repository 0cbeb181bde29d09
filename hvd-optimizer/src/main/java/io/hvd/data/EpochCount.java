package io.hvd.data;

/** The epoch that a sampler is in: each iteration begins the next one, unless the program has said which. */
final class EpochCount {
    private int epoch;
    private boolean begun;

    /** The epoch under way; before the first iteration, and after {@link #set}, the one that comes next. */
    int now() {
        return epoch;
    }

    /**
     * Makes the next iteration that of this epoch.
     *
     * @throws IllegalArgumentException if the epoch is negative
     */
    void set(int next) {
        if (next < 0) {
            throw new IllegalArgumentException("epoch must not be negative, found " + next);
        }
        epoch = next;
        begun = false;
    }

    /** An iteration begins. */
    void begin() {
        if (begun) {
            epoch++;
        }
        begun = true;
    }
}
