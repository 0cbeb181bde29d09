package io.hvd.examples.training;

import io.hvd.examples.data.DataOrigin;
import io.hvd.optimizer.StepStats;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** Adds up the work of this rank in a whole training, for the result line at its end. */
public final class RunTotals {
    private final List<StepStats> steps = new ArrayList<>();
    private long silentSteps;
    private long samples;
    private double trainingSeconds;
    private int epochs;
    private long waitNanos;

    public void stepped(StepStats step) {
        steps.add(step);
    }

    /** Of an optimizer that does not say how its gradients travelled. */
    public void stepped() {
        silentSteps++;
    }

    public void saw(int moreSamples) {
        samples += moreSamples;
    }

    /** Called once for each epoch. @param seconds of the epoch without its evaluation */
    public void trained(double seconds) {
        trainingSeconds += seconds;
        epochs++;
    }

    /** Seconds of training, without evaluations, of an epoch of this run; 0 if there was none. */
    public double secondsPerEpoch() {
        return epochs > 0 ? trainingSeconds / epochs : 0;
    }

    /** @param nanos what the loader of the training has counted so far */
    public void waited(long nanos) {
        waitNanos = nanos;
    }

    /** In words, the share of the training time in which this rank waited for its batches. */
    public String dataWait() {
        double share = trainingSeconds > 0 ? waitNanos / 1e9 / trainingSeconds : 0;
        return String.format(Locale.ROOT, "data wait %.1f %% of the training time on rank 0", 100 * share);
    }

    /** The number of steps of the optimizer. */
    public long steps() {
        return steps.size() + silentSteps;
    }

    /** The samples per second of all ranks together; every rank trains on the same number of samples. */
    public double samplesPerSecond(int ranks) {
        return trainingSeconds > 0 ? samples * ranks / trainingSeconds : 0;
    }

    /** The share of the gradient bytes that were averaged before backward ended; the median of the steps. */
    public double overlap(int ranks) {
        return median(ranks, StepStats::overlap);
    }

    /** The milliseconds from the end of backward until all gradients were averaged; the median of the steps. */
    public double exposedMillis(int ranks) {
        return median(ranks, step -> step.exposedNanos() / 1e6);
    }

    /** The median of a figure over the steps; 0 with one rank. */
    private double median(int ranks, ToDoubleFunction<StepStats> figure) {
        if (steps.isEmpty() || ranks == 1) {
            return 0;
        }
        double[] sorted = steps.stream().mapToDouble(figure).sorted().toArray();
        return sorted[sorted.length / 2];
    }

    /** The bytes that this rank has given to collectives in a step, in words; the mean over all steps. */
    public String sent() {
        long gradients = steps.stream().mapToLong(StepStats::bytes).sum();
        long sent = steps.stream().mapToLong(StepStats::bytesSent).sum();
        long count = Math.max(1, steps());
        return String.format(
                Locale.ROOT,
                "each rank has sent %.1f KiB per step for gradients of %.1f KiB",
                sent / 1024.0 / count,
                gradients / 1024.0 / count);
    }

    /** The result line at the end of an example. @param loss exact over all ranks, like the accuracy */
    public String result(String example, DataOrigin data, int ranks, int epochs, double loss, double accuracy) {
        return String.format(
                Locale.ROOT,
                "RESULT example=%s ranks=%d epochs=%d steps=%d loss=%.6f accuracy=%.4f samples_per_second=%.1f"
                        + " overlap=%.2f exposed_ms=%.3f data=%s",
                example,
                ranks,
                epochs,
                steps(),
                loss,
                accuracy,
                samplesPerSecond(ranks),
                overlap(ranks),
                exposedMillis(ranks),
                data);
    }
}
