package io.hvd.examples.image;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;

/** Adds up the figures of the steps of an epoch, or of an evaluation. */
final class StepFigures {
    private static final int LOSS = 0;
    private static final int TOP1 = 1;
    private static final int TOP5 = 2;
    private static final int SAMPLES = 3;
    private static final int KINDS = 4;

    /** The figures of the last step, then their sums over all steps. */
    private final double[] sums = new double[2 * KINDS];

    private double stepSeconds;
    private double allSeconds;
    private double waited;
    private double allWaited;
    private int steps;

    /**
     * A figure of the last step, and its average.
     */
    record Figure(double last, double average) {}

    /**
     * @param batchSeconds the time from step to step
     * @param dataSeconds the part of this time in which the step waited for its batch
     * @param top1 share of the samples whose class the model found
     * @param top5 share of the samples whose class was among the model's first five
     */
    record Reading(Figure batchSeconds, Figure dataSeconds, Figure loss, Figure top1, Figure top5) {}

    void add(BatchResult result, double batchSeconds, double dataSeconds) {
        add(List.of(result), batchSeconds, dataSeconds);
    }

    /** @param results the results of all parts of a step */
    void add(List<BatchResult> results, double batchSeconds, double dataSeconds) {
        Arrays.fill(sums, 0, KINDS, 0);
        for (BatchResult result : results) {
            sums[LOSS] += result.lossSum();
            sums[TOP1] += result.top1();
            sums[TOP5] += result.top5();
            sums[SAMPLES] += result.samples();
        }
        for (int kind = 0; kind < KINDS; kind++) {
            sums[KINDS + kind] += sums[kind];
        }
        stepSeconds = batchSeconds;
        allSeconds += batchSeconds;
        waited = dataSeconds;
        allWaited += dataSeconds;
        steps++;
    }

    /** The figures over this rank's samples. */
    Reading own() {
        return reading(sums);
    }

    /** The figures over the samples of all ranks, with this rank's times; every rank calls it after the same step. */
    Reading ofAllRanks(HvdContext hvd) {
        Tensor total = hvd.allreduce("figures", Tensor.of(sums.clone()), AllreduceOptions.sum());
        return reading((double[]) total.toArray());
    }

    private Reading reading(double[] all) {
        return new Reading(
                new Figure(stepSeconds, allSeconds / steps),
                new Figure(waited, allWaited / steps),
                mean(all, LOSS),
                mean(all, TOP1),
                mean(all, TOP5));
    }

    private static Figure mean(double[] all, int kind) {
        return new Figure(all[kind] / all[SAMPLES], all[KINDS + kind] / all[KINDS + SAMPLES]);
    }
}
