package io.hvd.spi;

/**
 * Moves on what a rank has sent, where that needs a call: a message may have left the caller's buffer and still wait for room
 * on its way, while its receiver waits for it and its sender does something else.
 */
public interface Progress {
    /** Does nothing, for back ends whose messages move on by themselves. */
    Progress NONE = new Progress() {
        @Override
        public long make() {
            return Long.MAX_VALUE;
        }

        @Override
        public void delivered() {
            // It always is.
        }

        @Override
        public boolean isPending() {
            return false;
        }
    };

    /**
     * Moves on what is under way, if that is due. The communication thread calls this before it waits for anything outside
     * the back end, and again when the time is over. On any other thread it does nothing.
     *
     * @return nanoseconds until the next call is due; {@link Long#MAX_VALUE} means that none is
     */
    long make();

    /**
     * Says that every rank has come to an operation after all that was sent before, and so has received it. Called on the
     * communication thread.
     */
    void delivered();

    /** Whether something may still be under way. Any thread may ask. */
    boolean isPending();
}
