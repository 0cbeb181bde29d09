package io.hvd.optimizer.exchange;

import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Parameter;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;

/** Notes the gradients of a step that are none, because backward has not reached their parameters, and exchanges the sparse ones. */
final class OddGradients {
    private final GradientReduction reduction;
    private final List<Parameter> parameters;
    private final LocalParameters local;
    /** Is told in the first step which parameters backward has not reached. */
    private final UnusedParameters unused;
    /** By parameter, whether any backward pass of this step has reached it, also one that stays on this rank. */
    private final BitSet reached = new BitSet();
    /** The sparse gradients that this rank has sent in this step, before the wait. */
    private long sparseBytes;

    OddGradients(
            GradientReduction reduction, List<Parameter> parameters, LocalParameters local, UnusedParameters unused) {
        this.reduction = reduction;
        this.parameters = parameters;
        this.local = local;
        this.unused = unused;
    }

    void startOver() {
        sparseBytes = 0;
        reached.clear();
    }

    void reached(int parameter) {
        reached.set(parameter);
    }

    boolean areNoneReached() {
        return reached.isEmpty();
    }

    /**
     * In the first step, tells the other ranks which parameters backward has not reached.
     *
     * @param announced whether this rank knows
     */
    void tellUnused(boolean announced, Buckets buckets) {
        if (unused.isDue()) {
            unused.begin(announced ? unreached(buckets) : List.of());
        }
    }

    private List<Integer> unreached(Buckets buckets) {
        int[] shared = IntStream.range(0, parameters.size())
                .filter(parameter -> !local.contains(parameters.get(parameter)))
                .toArray();
        return IntStream.range(0, shared.length)
                .filter(place -> buckets.contain(shared[place]) && !reached.get(shared[place]))
                .boxed()
                .toList();
    }

    /** Shows what has come by now of the ranks' unused parameters. */
    void lookForUnused() {
        unused.look();
    }

    /** @param weight with which the sum over the ranks is the result */
    void exchangeSparse(GradientSource source, double weight) {
        sparseBytes = source.exchangeSparse(reduction.set(), reduction.scope(), weight);
    }

    long sparseBytes() {
        return sparseBytes;
    }
}
