package io.hvd.examples.demo;

import io.hvd.HvdContext;
import io.hvd.data.SplitMix64;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.data.DataOrigin;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.ReduceOp;
import io.hvd.train.MeanMetric;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;

/**
 * Fits the coefficients of a polynomial to noisy values of one, by stochastic gradient descent from 0 on samples that each rank draws
 * by itself.
 *
 * <p>S. Maleki et al., "Scaling Distributed Training with Adaptive Summation", MLSys 2021.
 */
final class AdasumTraining {
    private static final List<ReduceOp> OPS = List.of(ReduceOp.SUM, ReduceOp.AVERAGE, ReduceOp.ADASUM);
    /** The coefficients that the samples come from, the constant one first. */
    private static final double[] TRUE = {1, -2, 3, -1.5};

    private static final double NOISE = 0.1;
    private static final int TEST_SAMPLES = 256;
    private static final int BAD_USAGE = 2;

    private final HvdContext hvd;
    private final Demo demo;
    private final int degree;
    private final int steps;
    private final int batchSize;
    private final long seed;

    AdasumTraining(HvdContext hvd, int degree, int steps, int batchSize, long seed) {
        this.hvd = hvd;
        this.demo = new Demo(AdasumExample.NAME, hvd);
        this.degree = degree;
        this.steps = steps;
        this.batchSize = batchSize;
        this.seed = seed;
    }

    /** Trains with every rate in every way; rank 0 prints the table. @return the exit code */
    int run(List<Double> rates) throws ExampleFailure {
        if (Integer.bitCount(hvd.size()) != 1) {
            throw new ExampleFailure(
                    "found " + hvd.size() + " ranks, expected a power of two, which Adasum needs", BAD_USAGE);
        }
        Map<ReduceOp, Double> best = new EnumMap<>(ReduceOp.class);
        demo.say("%10s %12s %12s %12s", "rate", "sum", "average", "adasum");
        for (double rate : rates) {
            StringJoiner row = new StringJoiner(" ");
            for (ReduceOp op : OPS) {
                double loss = finalLoss(op, rate);
                best.merge(op, Double.isFinite(loss) ? loss : Double.POSITIVE_INFINITY, Math::min);
                row.add(String.format(Locale.ROOT, "%12s", words(loss)));
            }
            demo.say("%10s %s", rate, row);
        }
        demo.result(
                "degree=%d steps=%d best_sum=%s best_average=%s best_adasum=%s data=%s",
                degree,
                steps,
                words(best.get(ReduceOp.SUM)),
                words(best.get(ReduceOp.AVERAGE)),
                words(best.get(ReduceOp.ADASUM)),
                DataOrigin.DRAWN);
        return 0;
    }

    private static String words(double loss) {
        return Double.isFinite(loss) && loss < 1e6 ? String.format(Locale.ROOT, "%.6f", loss) : "diverged";
    }

    /** The mean squared error over fresh samples of all ranks; infinite or not a number if the training has diverged. */
    private double finalLoss(ReduceOp op, double rate) {
        float[] values = new float[degree + 1];
        float[] gradients = new float[degree + 1];
        SplitMix64 random = new SplitMix64(new SplitMix64(seed + hvd.rank()).nextLong());
        var inner = new Sgd(new ArrayParameters().add("coefficients", values, gradients), rate);
        try (var optimizer = DistributedOptimizer.wrap(inner)
                .context(hvd)
                .op(op)
                .compareParametersEvery(0)
                .build()) {
            optimizer.broadcastParameters(0);
            for (int step = 0; step < steps; step++) {
                optimizer.zeroGradients();
                for (int sample = 0; sample < batchSize; sample++) {
                    addGradient(random, values, gradients);
                }
                optimizer.step();
            }
        }
        MeanMetric error = new MeanMetric("error");
        for (int sample = 0; sample < TEST_SAMPLES; sample++) {
            double residual = residual(x(random), random, values);
            error.add(residual * residual, 1);
        }
        return error.reduce(hvd).mean();
    }

    private static double x(SplitMix64 random) {
        return 2 * random.nextDouble() - 1;
    }

    /** The distance of the fitted polynomial from a noisy value of the true one. */
    private double residual(double x, SplitMix64 random, float[] values) {
        double found = 0;
        double wanted = NOISE * (2 * random.nextDouble() - 1);
        for (int power = degree; power >= 0; power--) {
            found = found * x + values[power];
        }
        double term = 1;
        for (int power = 0; power <= degree; power++) {
            wanted += TRUE[power] * term;
            term *= x;
        }
        return found - wanted;
    }

    private void addGradient(SplitMix64 random, float[] values, float[] gradients) {
        double x = x(random);
        double slope = 2 * residual(x, random, values) / batchSize;
        for (int power = 0; power <= degree; power++) {
            gradients[power] += (float) slope;
            slope *= x;
        }
    }
}
