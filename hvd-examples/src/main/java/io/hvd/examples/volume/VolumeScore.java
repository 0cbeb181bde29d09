package io.hvd.examples.volume;

import org.bytedeco.pytorch.Tensor;

/**
 * The overlap of a predicted mask with that of a volume.
 *
 * @param index of the volume in the data set
 * @param overlap voxels of both masks
 * @param predicted voxels of the predicted mask
 * @param truth voxels of the volume's own mask
 * @param voxels of the volume
 * @param loss {@link DiceLoss} of the volume
 */
record VolumeScore(int index, long overlap, long predicted, long truth, long voxels, double loss) {
    /** Columns of a row in a table. */
    static final int COLUMNS = 6;

    /** @param predicted and truth are bool tensors of one shape */
    static VolumeScore of(int index, Tensor predicted, Tensor truth, double loss) {
        return new VolumeScore(
                index,
                predicted.logical_and(truth).sum().item_long(),
                predicted.sum().item_long(),
                truth.sum().item_long(),
                truth.numel(),
                loss);
    }

    static VolumeScore read(double[] table, int row) {
        int at = COLUMNS * row;
        return new VolumeScore(
                (int) table[at],
                (long) table[at + 1],
                (long) table[at + 2],
                (long) table[at + 3],
                (long) table[at + 4],
                table[at + 5]);
    }

    void write(double[] table, int row) {
        double[] columns = {index, overlap, predicted, truth, voxels, loss};
        System.arraycopy(columns, 0, table, COLUMNS * row, COLUMNS);
    }

    /** The Dice coefficient of the masks; NaN if the volume's own is empty, since any prediction would then have the same one. */
    double dice() {
        return truth == 0 ? Double.NaN : 2.0 * overlap / (predicted + truth);
    }

    /** The voxels that are predicted as they are. */
    long right() {
        return voxels - predicted - truth + 2 * overlap;
    }
}
