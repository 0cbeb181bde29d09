package io.hvd.train;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.tensor.Tensor;

/**
 * A mean over the samples of all ranks or of some, exact also when the ranks have seen different numbers of
 * them: sums and counts travel, not means. Fed through an {@code EvalSampler} every sample counts once.
 */
public final class MeanMetric {
    private final String name;
    private double sum;
    private long count;

    /**
     * @param name the same on every rank
     */
    public MeanMetric(String name) {
        this.name = name;
    }

    /** Adds this rank's samples. */
    public void add(double sumOfValues, long samples) {
        sum += sumOfValues;
        count += samples;
    }

    /**
     * The mean over the ranks of a process set; each of them must call it, and gets the same result. It is NaN if none
     * of them has a sample.
     *
     * @param ranks the context for all ranks, or some of them
     * @throws io.hvd.error.HvdException if this rank is not in the set
     */
    public Result reduce(ProcessSet ranks) {
        Tensor total = ranks.allreduce("metric." + name, Tensor.of(sum, (double) count), AllreduceOptions.sum());
        double[] values = (double[]) total.toArray();
        return new Result(values[0] / values[1], (long) values[1]);
    }

    /**
     * A mean and the number of samples behind it, over the ranks that have reduced it.
     */
    public record Result(double mean, long samples) {
        /** The perplexity, if the values are negative natural logarithms of probabilities, such as a loss per token. */
        public double perplexity() {
            return Math.exp(mean);
        }
    }
}
