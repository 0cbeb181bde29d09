package io.hvd.train;

/**
 * Tells what has a state, such as a best value, whether that is of an earlier loop, for then it begins anew. A state that the program has
 * loaded since is kept.
 */
final class LoopUse {
    private boolean ofAnEarlierLoop;

    /** Whether the state is that of an earlier loop, now that a loop begins. */
    boolean isOver() {
        return ofAnEarlierLoop;
    }

    /** The state has taken in an epoch. */
    void goesOn() {
        ofAnEarlierLoop = true;
    }

    /** The state is now that of a checkpoint. */
    void isLoaded() {
        ofAnEarlierLoop = false;
    }
}
