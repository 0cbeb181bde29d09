package io.hvd.examples.image;

import io.hvd.train.ClassScores;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * The result of a batch on this rank.
 *
 * @param lossSum sum of the losses of all samples
 */
record BatchResult(double lossSum, ClassScores scores, long[] labels) {
    private static final int FIVE = 5;

    /**
     * @param output (batch, classes)
     * @param targets (batch)
     * @param loss mean over the batch
     */
    static BatchResult of(Tensor output, Tensor targets, Tensor loss) {
        float[] scores = new float[Math.toIntExact(output.numel())];
        output.cpu().contiguous().data_ptr_float().get(scores);
        int classes = Math.toIntExact(output.size(1));
        long[] labels = new long[Math.toIntExact(targets.numel())];
        targets.cpu().contiguous().data_ptr_long().get(labels);
        return new BatchResult(loss.item_float() * (double) labels.length, new ClassScores(scores, classes), labels);
    }

    /** The mean loss over the samples of all parts of a step. */
    static double meanLoss(List<BatchResult> parts) {
        return parts.stream().mapToDouble(BatchResult::lossSum).sum()
                / parts.stream().mapToInt(BatchResult::samples).sum();
    }

    int samples() {
        return labels.length;
    }

    int top1() {
        return scores.hits(1, labels);
    }

    int top5() {
        return scores.hits(FIVE, labels);
    }
}
