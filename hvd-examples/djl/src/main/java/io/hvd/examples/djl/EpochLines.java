package io.hvd.examples.djl;

import ai.djl.training.Trainer;
import ai.djl.training.TrainingResult;
import ai.djl.training.listener.TrainingListenerAdapter;
import java.util.Locale;

/** Prints a line at the end of each epoch, of what all ranks have measured. It stands behind the listener that measures. */
final class EpochLines extends TrainingListenerAdapter {
    private final int before;
    private final boolean speaks;

    /** @param before number of epochs that an earlier run has made */
    EpochLines(int before, boolean speaks) {
        this.before = before;
        this.speaks = speaks;
    }

    @Override
    public void onEpoch(Trainer trainer) {
        TrainingResult result = trainer.getTrainingResult();
        if (speaks) {
            System.out.printf(
                    Locale.ROOT,
                    "epoch %d loss %.5f test loss %.5f test accuracy %.4f%n",
                    before + result.getEpoch(),
                    result.getTrainLoss(),
                    result.getValidateLoss(),
                    result.getValidateEvaluation("Accuracy"));
        }
    }
}
