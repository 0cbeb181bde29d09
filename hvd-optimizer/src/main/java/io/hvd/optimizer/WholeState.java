package io.hvd.optimizer;

/** The whole of a state that is shared out, on a rank that has it. */
final class WholeState {
    /** Null where this rank has its share only. */
    private byte[] bytes;
    /** Whether there was a step since. */
    private boolean stepped;
    /** Whether a step may be abandoned, so that the whole of before is kept until the step is committed. */
    private final boolean keeps;

    private WholeState(byte[] bytes, boolean stepped, boolean keeps) {
        this.bytes = bytes;
        this.stepped = stepped;
        this.keeps = keeps;
    }

    static WholeState none() {
        return new WholeState(null, false, false);
    }

    /** From now on steps are committed. */
    WholeState keeping() {
        return new WholeState(bytes, stepped, true);
    }

    WholeState copy() {
        return new WholeState(bytes, stepped, keeps);
    }

    /** @param whole null if this rank does not have it */
    void is(byte[] whole) {
        bytes = whole;
        stepped = false;
    }

    void stepped() {
        stepped = true;
        if (!keeps) {
            bytes = null;
        }
    }

    void committed() {
        if (stepped) {
            bytes = null;
        }
    }

    /** The state as it is now; null where this rank does not have it. */
    byte[] now() {
        return stepped ? null : bytes;
    }

    /** The state as it was at the last commit; null where this rank does not have it. */
    byte[] atCommit() {
        return bytes;
    }
}
