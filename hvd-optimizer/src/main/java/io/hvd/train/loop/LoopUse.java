package io.hvd.train.loop;

/**
 * Whether a state, such as a best value, is that of an earlier loop. A loop then begins it anew, unless the program has loaded it since.
 */
public final class LoopUse {
    private boolean ofAnEarlierLoop;

    /** Whether the state is that of an earlier loop, now that a loop begins. */
    public boolean isOver() {
        return ofAnEarlierLoop;
    }

    /** The state has taken in an epoch. */
    public void goesOn() {
        ofAnEarlierLoop = true;
    }

    /** The state is now that of a checkpoint. */
    public void isLoaded() {
        ofAnEarlierLoop = false;
    }
}
