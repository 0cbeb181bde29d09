package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.training.BatchPlace;
import io.hvd.examples.training.RunTotals;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.tensor.Tensor;
import io.hvd.train.Memory;
import java.util.Arrays;
import java.util.Locale;

/** The lines that a training prints: those of the ranks for batches, if they are wanted, and those of rank 0 for epochs and the end. */
final class TrainingReport {
    private final String example;
    private final HvdContext hvd;
    private final TrainingOptions options;
    private final HorovodMnistFlags horovods;
    private final TrainingOptimizer optimizer;
    private final RunTotals totals;
    private final DataOrigin data;

    TrainingReport(
            String example,
            HvdContext hvd,
            TrainingOptions options,
            HorovodMnistFlags horovods,
            TrainingOptimizer optimizer,
            RunTotals totals,
            DataOrigin data) {
        this.example = example;
        this.hvd = hvd;
        this.options = options;
        this.horovods = horovods;
        this.optimizer = optimizer;
        this.totals = totals;
        this.data = data;
    }

    /** Says what is trained on, and how many images of all ranks a step has. */
    void start(int trainImages, int testImages) {
        if (hvd.rank() == 0) {
            long images = (long) options.batchSize() * options.passes() * hvd.size();
            System.out.printf(
                    Locale.ROOT,
                    "data %s: %d training and %d test images, batches of %d%s on each of %d ranks, %d images in a step%n",
                    data,
                    trainImages,
                    testImages,
                    options.batchSize(),
                    options.passes() == 1 ? "" : " x " + options.passes() + " passes",
                    hvd.size(),
                    images);
        }
    }

    /** Whether a batch gets a line. */
    boolean logs(BatchPlace place) {
        return horovods.logs(place.batch());
    }

    /**
     * Prints the line of a batch.
     *
     * @param batches of an epoch
     * @param images of all ranks
     */
    void batch(BatchPlace place, int batches, int images, double loss) {
        System.out.println(HorovodMnistFlags.line(
                hvd.rank(),
                place.epoch(),
                place.batch(),
                batches,
                options.batchSize(),
                (images + hvd.size() - 1) / hvd.size(),
                loss,
                optimizer.outermost().scaler().scale()));
    }

    void epoch(int epoch, Evaluation evaluation) {
        if (hvd.rank() == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "epoch %d/%d: test loss %.4f, accuracy %.2f %% of %d samples%n",
                    epoch + 1,
                    options.epochs(),
                    evaluation.loss(),
                    100 * evaluation.accuracy(),
                    evaluation.samples());
        }
    }

    /** Prints what the whole run has come to. A collective. @param epochs those that are done */
    void end(int epochs, Evaluation evaluation) {
        optimizer.stateBytesOfRanks().ifPresent(bytes -> {
            if (hvd.rank() == 0) {
                System.out.println("optimizer state in bytes by rank: " + Arrays.toString(bytes));
            }
        });
        long[] peaks = (long[]) hvd.allgather("peak memory", Tensor.of(new long[] {Memory.peakMebibytes()}))
                .toArray();
        if (hvd.rank() == 0) {
            printSkippedSteps(optimizer.outermost());
            System.out.printf(
                    Locale.ROOT,
                    "%s; peak memory of the ranks' processes in MiB: %s; %s%n",
                    totals.sent(),
                    Memory.inWords(peaks),
                    totals.dataWait());
            System.out.printf(
                    Locale.ROOT,
                    "evaluated %d distinct samples of the test set, on %d ranks%n",
                    evaluation.distinct(),
                    hvd.size());
            System.out.println(
                    totals.result(example, data, hvd.size(), epochs, evaluation.loss(), evaluation.accuracy()));
        }
    }

    static void printSkippedSteps(AmpOptimizer scaled) {
        if (scaled.skippedSteps() > 0) {
            System.out.printf(
                    Locale.ROOT,
                    "%d steps skipped because of overflows; the loss scale is %s%n",
                    scaled.skippedSteps(),
                    scaled.scaler().scale());
        }
    }
}
