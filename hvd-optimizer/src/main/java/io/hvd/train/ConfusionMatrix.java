package io.hvd.train;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.tensor.Tensor;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * Counts which classes a classifier takes for which, over the samples of all ranks. The counts are integers, so all that follows
 * from them is exact. The pixels of a segmentation are samples too: {@link Result#dice} and {@link Result#iou} are then those of the
 * masks.
 */
public final class ConfusionMatrix {
    private final String name;
    private final int classes;
    private final long[] counts;

    /**
     * @param name the same on every rank
     * @param classes the number of classes, the same on every rank
     */
    public ConfusionMatrix(String name, int classes) {
        this.name = name;
        this.classes = classes;
        this.counts = new long[Math.multiplyExact(classes, classes)];
    }

    /** Adds a sample of this rank. */
    public void add(long label, long predicted) {
        int row = Objects.checkIndex(Math.toIntExact(label), classes);
        counts[row * classes + Objects.checkIndex(Math.toIntExact(predicted), classes)]++;
    }

    /** Adds samples of this rank, each predicted as its class with the largest score. */
    public void add(ClassScores scores, long... labels) {
        if (scores.classes() != classes || labels.length != scores.samples()) {
            throw new IllegalArgumentException(labels.length + " labels for " + scores.samples() + " samples with "
                    + scores.classes() + " classes, in a confusion matrix of " + classes + " classes");
        }
        for (int sample = 0; sample < labels.length; sample++) {
            add(labels[sample], scores.top(sample));
        }
    }

    /** The counts over the ranks of a process set; each of them must call it, and gets the same result. */
    public Result reduce(ProcessSet ranks) {
        Tensor total = ranks.allreduce("metric." + name, Tensor.of(counts), AllreduceOptions.sum());
        return new Result(classes, (long[]) total.toArray());
    }

    /**
     * The counts of all ranks. A quotient of zeros, as for a class that does not occur, is NaN.
     *
     * @param counts row by row, a row for each label and a column for each prediction
     */
    public record Result(int classes, long[] counts) {
        /** How many samples of one class were taken for another, or for their own. */
        public long count(int label, int predicted) {
            return counts[Objects.checkIndex(label, classes) * classes + Objects.checkIndex(predicted, classes)];
        }

        /** The number of samples. */
        public long samples() {
            return IntStream.range(0, classes).mapToLong(this::labelled).sum();
        }

        /** The share of the samples that are predicted right. */
        public double accuracy() {
            return IntStream.range(0, classes).mapToLong(this::right).sum() / (double) samples();
        }

        /** The share of the samples predicted as this class that are of it. */
        public double precision(int of) {
            return right(of) / (double) predicted(of);
        }

        /** The share of the samples of this class that are predicted as it. */
        public double recall(int of) {
            return right(of) / (double) labelled(of);
        }

        /** Twice the overlap over the sum of the sizes of label and prediction: the Dice coefficient, and the F1 score. */
        public double dice(int of) {
            return 2.0 * right(of) / (labelled(of) + predicted(of));
        }

        /** The overlap of label and prediction over their union: the Jaccard index. */
        public double iou(int of) {
            return right(of) / (double) (labelled(of) + predicted(of) - right(of));
        }

        private long right(int of) {
            return count(of, of);
        }

        private long labelled(int of) {
            return IntStream.range(0, classes)
                    .mapToLong(other -> count(of, other))
                    .sum();
        }

        private long predicted(int of) {
            return IntStream.range(0, classes)
                    .mapToLong(other -> count(other, of))
                    .sum();
        }
    }
}
