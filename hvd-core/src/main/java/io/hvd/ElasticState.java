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
     * @param ranks all ranks of the generation
     * @param root the rank whose state all take
     */
    void sync(ProcessSet ranks, int root);

    /**
     * Keeps a copy of this rank's state, which may be lost while {@link #sync} overwrites it: the rank that it comes from may end
     * before it has sent all. Called only on a rank that has missed the last step.
     *
     * @return puts the copy back
     */
    Runnable backup();

    /** A step was abandoned; its gradients, and what else it has begun, are to be dropped. Nothing is sent or received here. */
    default void abandoned() {
        // What begins a step anew needs to know nothing.
    }
}
