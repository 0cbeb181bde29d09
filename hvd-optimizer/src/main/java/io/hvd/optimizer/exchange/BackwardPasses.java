package io.hvd.optimizer.exchange;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Parameter;
import java.util.Arrays;
import java.util.List;

/**
 * Counts the backward passes of a step by parameter, and the gradients of each bucket that are still outstanding. The exchange calls it
 * under its lock.
 */
final class BackwardPasses {
    private final List<Parameter> parameters;
    private Buckets buckets;
    /** By bucket, the number of gradients that are not ready. */
    private int[] missing;

    private final int[] passes;
    private int perStep;
    /** The most backward passes of this step that a parameter has gone through, of those that are not inside {@code noSync()}. */
    private int most;
    /** By parameter, the passes inside the {@code noSync()} that is open. */
    private final int[] keptPasses;
    /** The passes of this step inside of {@code noSync()}. */
    private int kept;
    /** Whether backward passes stay on this rank and are not counted. */
    private boolean keepsLocal;
    /** From then on they always do. */
    private boolean closed;

    BackwardPasses(List<Parameter> parameters, Buckets buckets, int perStep) {
        this.parameters = parameters;
        this.buckets = buckets;
        this.missing = new int[buckets.count()];
        this.passes = new int[parameters.size()];
        this.keptPasses = new int[parameters.size()];
        this.perStep = perStep;
        expectAll();
    }

    void startOver() {
        Arrays.fill(passes, 0);
        most = 0;
        Arrays.fill(keptPasses, 0);
        kept = 0;
        expectAll();
    }

    private void expectAll() {
        for (int bucket = 0; bucket < buckets.count(); bucket++) {
            missing[bucket] = buckets.members(bucket).size();
        }
    }

    /** From now on gradients travel in these buckets; call it between steps. */
    void regroup(Buckets next) {
        buckets = next;
        missing = new int[next.count()];
        expectAll();
    }

    Buckets buckets() {
        return buckets;
    }

    /**
     * A backward pass has reached the parameter.
     *
     * @return whether that was the last one of the step
     * @throws HvdException if it is one too many
     */
    boolean count(int parameter) {
        if (keepsLocal) {
            keptPasses[parameter]++;
            return false;
        }
        most = Math.max(most, ++passes[parameter]);
        if (passes[parameter] > perStep) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "parameter \"" + parameters.get(parameter).name() + "\" has gone through backward pass "
                            + passes[parameter] + " before step(), allowed are " + perStep
                            + ". Call step() in time, or raise backwardPassesPerStep."
                            + GradientExchange.USUAL_CAUSES);
        }
        return passes[parameter] == perStep;
    }

    /** Whether the parameter has gone through all passes of the step. */
    boolean isComplete(int parameter) {
        return passes[parameter] == perStep;
    }

    /** @return whether the gradient was the last one outstanding in its bucket */
    boolean fill(int parameter) {
        return --missing[buckets.bucketOf(parameter)] == 0;
    }

    boolean isFull(int bucket) {
        return missing[bucket] == 0;
    }

    boolean areNone() {
        return Arrays.stream(passes).allMatch(done -> done == 0);
    }

    /** Call it only while nothing is in flight. */
    void keepLocal(boolean keeps) {
        keepsLocal = keeps || closed;
        kept += Arrays.stream(keptPasses).max().orElse(0);
        Arrays.fill(keptPasses, 0);
    }

    /** From now on all passes stay on this rank. */
    void close() {
        closed = true;
        keepsLocal = true;
    }

    boolean areClosed() {
        return closed;
    }

    boolean areLocal() {
        return keepsLocal;
    }

    int perStep() {
        return perStep;
    }

    void perStep(int count) {
        perStep = count;
    }

    /** The passes that were made, of whichever parameters; where gradients do not announce themselves, those that are planned. */
    int inMean(LocalReduction reduction) {
        int made = kept + most;
        return reduction == LocalReduction.MEAN ? made == 0 ? perStep : made : 1;
    }
}
