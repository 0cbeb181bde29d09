package io.hvd.train;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;

/**
 * A mean over the samples of all ranks, exact also when the ranks have seen different numbers of
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

    /** The mean over all ranks; every rank must call it and gets the same result. It is NaN if no rank has a sample. */
    public Result reduce(HvdContext hvd) {
        Tensor total = hvd.allreduce("metric." + name, Tensor.of(sum, (double) count), AllreduceOptions.sum());
        double[] values = (double[]) total.toArray();
        return new Result(values[0] / values[1], (long) values[1]);
    }

    /**
     * A mean and the number of samples behind it, over all ranks.
     */
    public record Result(double mean, long samples) {}
}
