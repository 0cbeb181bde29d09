package io.hvd.optimizer;

/**
 * An optimizer whose gradients announce themselves during backward, so that communication can start
 * before backward ends. Parameters are named by their index in {@link Optimizer#parameters()}.
 */
public interface GradientSource {
    /** Has every further gradient announced to the listener, on the thread that runs backward. */
    void listen(Listener listener);

    /**
     * Copies the gradient accumulated so far into {@link Parameter#gradient()}; zeros if there is none.
     * Called for parameters that took no part in backward.
     */
    void stage(int parameter);

    /**
     * All averages have come, or are queued: makes {@link Parameter#gradient()} of every parameter the gradient that
     * the step will use, for whatever the caller does with it from now on, clipping included.
     */
    void adopt();

    /**
     * Whether a parameter has a gradient that the last {@link #adopt} did not leave there. False if there is none at
     * all, as after {@link Optimizer#zeroGradients()}.
     */
    boolean hasNewGradient();

    /** Gets the announcements of a gradient source. */
    interface Listener {
        /**
         * A backward pass has computed a gradient.
         *
         * @return true if it was the last pass before the step; then the source puts the sum of all
         *     passes into {@link Parameter#gradient()} and calls {@link #ready}
         */
        boolean passed(int parameter);

        /** {@link Parameter#gradient()} holds this rank's gradient and is left alone until the step. */
        void ready(int parameter);
    }
}
