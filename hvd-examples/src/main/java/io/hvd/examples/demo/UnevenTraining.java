package io.hvd.examples.demo;

import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.Sampler;
import io.hvd.examples.data.DataOrigin;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.Tensor;
import io.hvd.train.MeanMetric;
import io.hvd.train.UnevenSteps;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Trains one weight towards the mean of numbers, whose loss over a batch is the mean of (w - x)^2 / 2, so that its gradient is w less
 * the batch's mean. Rank r has the numbers from 100 r on; the last rank has fewer of them.
 */
final class UnevenTraining {
    private static final int FIRST_NUMBER_STEP = 100;

    private final HvdContext hvd;
    private final Demo demo;
    private final List<Double> numbers;
    private final int batchSize;
    private final double rate;

    UnevenTraining(HvdContext hvd, int batches, int fewer, int batchSize, double rate) {
        this.hvd = hvd;
        this.demo = new Demo(UnevenExample.NAME, hvd);
        boolean isLast = hvd.rank() == hvd.size() - 1;
        int own = hvd.size() > 1 && isLast ? batches - fewer : batches;
        this.numbers = IntStream.range(0, own * batchSize)
                .mapToObj(i -> (double) FIRST_NUMBER_STEP * hvd.rank() + i)
                .toList();
        this.batchSize = batchSize;
        this.rate = rate;
    }

    /** The steps of this rank, the weight at their end, and which rank was the last to join; -1 if none did. */
    private record Outcome(int steps, float weight, int lastJoined) {}

    int run() {
        demo.sayAll("rank " + hvd.rank() + " has " + numbers.size() / batchSize + " batches of " + batchSize);
        Outcome joined = train(UnevenSteps.JOIN);
        Outcome padded = train(UnevenSteps.PAD);
        Outcome dropped = train(UnevenSteps.DROP);
        double ofMeans = (double)
                hvd.allreduce("mean of means", Tensor.of((float) mean())).item();
        MeanMetric metric = new MeanMetric("numbers");
        metric.add(numbers.stream().mapToDouble(x -> x).sum(), numbers.size());
        MeanMetric.Result exact = metric.reduce(hvd);
        demo.say(
                "mean of the ranks' means %.4f, which counts the samples of the last rank too much; exact mean %.4f over"
                        + " %d samples",
                ofMeans, exact.mean(), exact.samples());
        demo.result(
                "steps_join=%s steps_pad=%s steps_drop=%s last_joined=%d mean=%.4f mean_of_means=%.4f data=%s",
                steps(joined),
                steps(padded),
                steps(dropped),
                joined.lastJoined(),
                exact.mean(),
                ofMeans,
                DataOrigin.DRAWN);
        return 0;
    }

    private double mean() {
        return numbers.stream().mapToDouble(x -> x).average().orElseThrow();
    }

    /** The steps of all ranks, such as 5,3. */
    private String steps(Outcome outcome) {
        long[] all = (long[])
                hvd.allgather("steps", Tensor.of((long) outcome.steps())).toArray();
        return String.join(",", Arrays.stream(all).mapToObj(Long::toString).toList());
    }

    /** All numbers of this rank in their order: the ranks have no data in common that could be dealt out. */
    private record OwnNumbers(int length) implements Sampler {
        @Override
        public int datasetSize() {
            return length;
        }

        @Override
        public int[] indices() {
            return IntStream.range(0, length).toArray();
        }
    }

    private DataLoader<Double, List<Double>> loader(UnevenSteps policy) {
        return DataLoader.<Double, List<Double>>builder(
                        Dataset.of(numbers), new OwnNumbers(numbers.size()), List::copyOf)
                .batchSize(batchSize)
                .workers(0)
                .evenSteps(policy.among(hvd))
                .build();
    }

    private Outcome train(UnevenSteps policy) {
        float[] weight = {0};
        float[] gradient = {0};
        var optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("weight", weight, gradient), rate))
                .context(hvd)
                .scope(policy.name())
                .weightByBatchSize()
                .build();
        int steps = 0;
        try (optimizer;
                var loader = loader(policy)) {
            optimizer.broadcastParameters(0);
            for (List<Double> batch : loader) {
                optimizer.zeroGradients();
                optimizer.batchSize(batch.size());
                double batchMean = batch.stream().mapToDouble(x -> x).average().orElseThrow();
                gradient[0] += (float) (weight[0] - batchMean);
                optimizer.step();
                steps++;
            }
            int last = policy == UnevenSteps.JOIN ? optimizer.join(JoinDivisor.ACTIVE) : -1;
            demo.sayAll(policy + ", rank " + hvd.rank() + ": " + steps + " steps, weight " + weight[0]
                    + (last < 0 ? "" : ", rank " + last + " joined last"));
            return new Outcome(steps, weight[0], last);
        }
    }
}
