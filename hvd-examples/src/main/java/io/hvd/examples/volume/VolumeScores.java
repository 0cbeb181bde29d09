package io.hvd.examples.volume;

import io.hvd.HvdContext;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * The scores of all volumes, each of them once, in the order of the data set. Counts of voxels travel, not quotients, and means are
 * taken in that order: they have the same bits with any number of ranks.
 */
record VolumeScores(List<VolumeScore> rows) {
    /** Gathers those of all ranks; every rank calls it, also one without a volume. */
    static VolumeScores gather(HvdContext hvd, List<VolumeScore> mine) {
        double[] table = new double[VolumeScore.COLUMNS * mine.size()];
        for (int i = 0; i < mine.size(); i++) {
            mine.get(i).write(table, i);
        }
        Tensor rows = Tensor.wrap(table, DType.FLOAT64, Shape.of(mine.size(), VolumeScore.COLUMNS));
        double[] all = (double[]) hvd.allgather("volume_scores", rows).toArray();
        List<VolumeScore> scores = new ArrayList<>();
        for (int row = 0; row < all.length / VolumeScore.COLUMNS; row++) {
            scores.add(VolumeScore.read(all, row));
        }
        scores.sort(Comparator.comparingInt(VolumeScore::index));
        return new VolumeScores(List.copyOf(scores));
    }

    /** The mean over the volumes whose own mask is not empty; NaN if there is none. */
    double meanDice() {
        return rows.stream()
                .mapToDouble(VolumeScore::dice)
                .filter(dice -> !Double.isNaN(dice))
                .boxed()
                .reduce(Double::sum)
                .map(sum -> sum / volumesWithMask())
                .orElse(Double.NaN);
    }

    long volumesWithMask() {
        return rows.stream().filter(row -> row.truth() > 0).count();
    }

    double meanLoss() {
        double sum = 0;
        for (VolumeScore row : rows) {
            sum += row.loss();
        }
        return sum / rows.size();
    }

    /** The share of all voxels that are predicted as they are. */
    double accuracy() {
        long right = rows.stream().mapToLong(VolumeScore::right).sum();
        return (double) right / rows.stream().mapToLong(VolumeScore::voxels).sum();
    }

    /** Comma-separated values with a header line. @param names of the volumes by their indices */
    String csv(List<String> names) {
        StringBuilder text = new StringBuilder("image,dice,overlap,predicted,truth,voxels,loss\n");
        for (VolumeScore row : rows) {
            text.append(String.format(
                    Locale.ROOT,
                    "%s,%.6f,%d,%d,%d,%d,%.6f\n",
                    names.get(row.index()),
                    row.dice(),
                    row.overlap(),
                    row.predicted(),
                    row.truth(),
                    row.voxels(),
                    row.loss()));
        }
        return text.toString();
    }
}
