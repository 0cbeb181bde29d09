package io.hvd.optimizer;

/** The whole of a state that is shared out, on a rank that has it. */
final class WholeState {
    /** Null where this rank has its share only. */
    private NamedState state;
    /** Whether there was a step since. */
    private boolean stepped;
    /** Whether a step may be abandoned, so that the whole of before is kept until the step is committed. */
    private final boolean keeps;

    private WholeState(NamedState state, boolean stepped, boolean keeps) {
        this.state = state;
        this.stepped = stepped;
        this.keeps = keeps;
    }

    static WholeState none() {
        return new WholeState(null, false, false);
    }

    /** From now on steps are committed. */
    WholeState keeping() {
        return new WholeState(state, stepped, true);
    }

    WholeState copy() {
        return new WholeState(state, stepped, keeps);
    }

    /** Whether its tensors must stay as they are when this rank's share is stepped. */
    boolean keeps() {
        return keeps;
    }

    /** @param whole null if this rank does not have it */
    void is(NamedState whole) {
        state = whole;
        stepped = false;
    }

    void stepped() {
        stepped = true;
        if (!keeps) {
            state = null;
        }
    }

    void committed() {
        if (stepped) {
            state = null;
        }
    }

    /** The state as it is now; null where this rank does not have it. */
    NamedState now() {
        return stepped ? null : state;
    }

    /** The state as it was at the last commit; null where this rank does not have it. */
    NamedState atCommit() {
        return state;
    }
}
