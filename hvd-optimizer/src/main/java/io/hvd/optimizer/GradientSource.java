package io.hvd.optimizer;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * An optimizer whose gradients announce themselves during backward, so that communication can start
 * before backward ends. Parameters are named by their index in {@link Optimizer#parameters()}.
 */
public interface GradientSource {
    /** Has every further gradient announced to this listener and to no earlier one, on the thread that runs backward. */
    void listen(Listener listener);

    /**
     * Copies the gradient accumulated so far into {@link Parameter#gradient()}; zeros if there is none.
     * Called for parameters that took no part in backward. The copy is multiplied by the listener's {@link Listener#weight},
     * if there is a listener.
     */
    void stage(int parameter);

    /** Does the same for several parameters. */
    default void stageAll(List<Integer> parameters) {
        parameters.forEach(this::stage);
    }

    /**
     * Does the same for parameters whose last backward pass has left its gradient with this source, see {@link #keepsUntilStaged}.
     *
     * @throws io.hvd.error.HvdException if a gradient is not there any more
     */
    default void stageKept(List<Integer> parameters) {
        stageAll(parameters);
    }

    /**
     * Whether the gradient of a complete backward pass stays as it is, if {@link Listener#passed} says no, until {@link #stage}
     * takes it. The gradients of a step may then be taken all at once, at the end of backward, where this is faster.
     */
    default boolean keepsUntilStaged() {
        return false;
    }

    /**
     * All averages have come, or are queued: makes {@link Parameter#gradient()} of every parameter the gradient that
     * the step will use, for whatever the caller does with it from now on, clipping included.
     */
    void adopt();

    /**
     * All averages have come, or are queued: {@link Parameter#gradient()} may be read from now on. What backward has computed on this rank
     * stays beside it until {@link #adopt}, where the source keeps it at all.
     */
    default void arrived() {}

    /**
     * This rank's own gradient in the host's memory, between {@link #arrived} and {@link #adopt}; empty if it no longer is there. Only
     * asked where an average is not finite.
     */
    default Optional<Tensor> ownGradient(int parameter) {
        return Optional.empty();
    }

    /**
     * Whether a parameter has a gradient that the last {@link #adopt} did not leave there. False if there is none at
     * all, as after {@link Optimizer#zeroGradients()}.
     */
    boolean hasNewGradient();

    /** Whether backward has added to the gradients that the last step used, because nobody has cleared them, as far as is known. */
    default boolean addsToLastStep() {
        return false;
    }

    /** hvd has written {@link Parameter#value()} of parameters itself: those of another rank, or a combined step. */
    default void overwritten() {}

    /** The names of the parameters whose gradients travel by {@link #exchangeSparse} only. */
    default Set<String> sparse() {
        return Set.of();
    }

    /**
     * A collective: gives the gradients of the {@link #sparse} parameters the sum of all ranks' sparse gradients, each of
     * which is multiplied by a weight first.
     *
     * @param scope what the names of its tensors begin with
     * @return bytes of the rows and row numbers that this rank has sent
     */
    default long exchangeSparse(ProcessSet set, String scope, double weight) {
        return 0;
    }

    /**
     * Checks that the parameters still are where {@link Optimizer#parameters()} has said.
     *
     * @throws HvdException if one has been moved or converted
     */
    default void requireInPlace() {}

    /**
     * Multiplies what the backward passes since the last step have accumulated, before the next one adds to it. Only an
     * optimizer with {@link DistributedOptimizerBuilder#weightByBatchSize} calls it.
     */
    default void multiplyAccumulated(double factor) {
        throw new HvdException(
                ErrorId.UNSUPPORTED,
                getClass().getName()
                        + " does not implement multiplyAccumulated(factor), which weightByBatchSize() needs for"
                        + " several backward passes over batches of different sizes before one step");
    }

    /** Gets the announcements of a gradient source. */
    interface Listener {
        /**
         * A backward pass has computed a gradient.
         *
         * @return true if it was the last pass before the step; then the source puts the sum of all
         *     passes into {@link Parameter#gradient()} and calls {@link #ready}. False also if the source
         *     {@link #keepsUntilStaged keeps} the gradient and is asked for it later
         */
        boolean passed(int parameter);

        /**
         * The factor by which the source multiplies the sum of all passes on its way into {@link Parameter#gradient()}; for 0 it writes
         * zeros, whatever the sum is. It may wait for the other ranks.
         */
        default double weight(int parameter) {
            return 1;
        }

        /** {@link Parameter#gradient()} holds this rank's gradient and is left alone until the step. */
        void ready(int parameter);
    }
}
