package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.image.StepFigures.Figure;
import io.hvd.examples.image.StepFigures.Reading;
import io.hvd.examples.training.ParallelMode;
import io.hvd.examples.training.RunTotals;
import java.util.List;
import java.util.Locale;

/** Prints the output of the CIFAR-10 example, on rank 0 alone. */
final class CifarReport {
    private static final String SHARES = "loss %.4f (%.4f), top-1 %.2f %% (%.2f), top-5 %.2f %% (%.2f)";

    private final HvdContext hvd;
    private final boolean speaks;

    CifarReport(HvdContext hvd) {
        this.hvd = hvd;
        this.speaks = hvd.rank() == 0;
    }

    void start(CifarOptions options, long parameters, int trainImages, int testImages, int batchPerRank) {
        print("model %s: %d parameters", options.net(), parameters);
        print(
                "data %s: %d training and %d test images, batches of %d on each of %d ranks",
                options.data().folder().map(Object::toString).orElse("drawn by this program"),
                trainImages,
                testImages,
                batchPerRank,
                hvd.size());
    }

    /** Prints the last step's figures, each with the average of the epoch so far in parentheses. */
    void trainingStep(int epoch, int epochs, int step, int steps, Reading reading) {
        Figure batch = reading.batchSeconds();
        Figure data = reading.dataSeconds();
        print(
                "epoch %d/%d step %d/%d: batch %.3f s (%.3f), data %.3f s (%.3f), " + SHARES,
                epoch + 1,
                epochs,
                step,
                steps,
                batch.last(),
                batch.average(),
                data.last(),
                data.average(),
                reading.loss().last(),
                reading.loss().average(),
                100 * reading.top1().last(),
                100 * reading.top1().average(),
                100 * reading.top5().last(),
                100 * reading.top5().average());
    }

    /** Prints the progress of rank 0 only, because the other ranks' progress is not known before the end. */
    void evaluationStep(int step, int steps, Reading reading) {
        print(
                "test step %d/%d of rank 0: batch %.3f s (%.3f), " + SHARES,
                step,
                steps,
                reading.batchSeconds().last(),
                reading.batchSeconds().average(),
                reading.loss().last(),
                reading.loss().average(),
                100 * reading.top1().last(),
                100 * reading.top1().average(),
                100 * reading.top5().last(),
                100 * reading.top5().average());
    }

    void epoch(int epoch, int epochs, double trainingLoss, Evaluation evaluation, double seconds) {
        print(
                "epoch %d/%d: %.1f s, training loss %.4f, test loss %.4f, top-1 %.3f %%, top-5 %.3f %%",
                epoch + 1,
                epochs,
                seconds,
                trainingLoss,
                evaluation.loss(),
                100 * evaluation.accuracy(),
                100 * evaluation.top5());
    }

    void end(Evaluation evaluation) {
        print("evaluated %d distinct samples of the test set, on %d ranks", evaluation.distinct(), hvd.size());
        print("final top-1 %.3f %%, top-5 %.3f %%", 100 * evaluation.accuracy(), 100 * evaluation.top5());
    }

    /** Prints the seconds of an epoch and what each device holds. */
    void spread(ParallelMode mode, List<String> memory, double secondsPerEpoch) {
        memory.forEach(line -> print("%s", line));
        print(
                "mode %s over %d: %.2f s per epoch of training",
                mode.word(), hvd.size() * mode.devices(), secondsPerEpoch);
    }

    void result(DataOrigin data, ParallelMode mode, int epochs, Evaluation evaluation, RunTotals totals) {
        print("%s", totals.dataWait());
        print(
                "RESULT example=cifar10 ranks=%d epochs=%d steps=%d loss=%.6f accuracy=%.5f top5=%.5f evaluated=%d"
                        + " samples_per_second=%.1f overlap=%.2f exposed_ms=%.3f data=%s mode=%s devices=%d epoch_seconds=%.3f",
                hvd.size(),
                epochs,
                totals.steps(),
                evaluation.loss(),
                evaluation.accuracy(),
                evaluation.top5(),
                evaluation.samples(),
                totals.samplesPerSecond(hvd.size()),
                totals.overlap(hvd.size()),
                totals.exposedMillis(hvd.size()),
                data,
                mode.word(),
                mode.devices(),
                totals.secondsPerEpoch());
    }

    private void print(String format, Object... values) {
        if (speaks) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }
}
