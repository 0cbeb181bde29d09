package io.hvd;

/**
 * What the ranks of an elastic job have in common, and what a new rank has to get: parameters, the optimizer's state, the
 * place in the data. {@code TrainingState} of hvd-optimizer has it for modules, arrays and samplers.
 *
 * <p>The state is that of a step's end: a program calls {@link Elastic#commit()} directly behind the step of its optimizer.
 */
public interface ElasticState {
    /**
     * Makes this rank's state that of one rank. A collective: all ranks of the new generation call it before their body runs.
     *
     * @param hvd the context of the new generation
     * @param root the rank whose state all take
     */
    void sync(HvdContext hvd, int root);

    /**
     * Keeps a copy of this rank's state, which may be lost while {@link #sync} overwrites it: the rank that it comes from may end
     * before it has sent all. Called only on a rank that has missed the last step.
     *
     * @return puts the copy back
     */
    Runnable backup();

    /** {@link Elastic#commit()} has counted a step: the state is what {@link #abandoned} goes back to. Nothing is sent or received here. */
    default void committed() {
        // What changes only in the optimizer's step needs to know nothing.
    }

    /**
     * The ranks change behind the step that was committed last, and all that have made it are still there, also those that leave: what
     * is on one rank only can be given to the others. A collective; a rank that is lost meanwhile is lost as in any other step.
     *
     * @param hvd the context of the generation that ends
     */
    default void changing(HvdContext hvd) {
        // What every rank has needs no handing over.
    }

    /** A step was abandoned; its gradients, and what else it has begun, are to be dropped. Nothing is sent or received here. */
    default void abandoned() {
        // What begins a step anew needs to know nothing.
    }

    /** What the line about a new generation says beside its ranks and steps, behind {@link #sync}; usually nothing. */
    default String news() {
        return "";
    }
}
