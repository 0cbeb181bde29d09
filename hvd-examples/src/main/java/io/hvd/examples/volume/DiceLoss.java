package io.hvd.examples.volume;

import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/**
 * One minus the Dice coefficient of probabilities and targets, smoothed, for each sample and channel by itself.
 *
 * <p>F. Milletari, N. Navab, S.-A. Ahmadi, "V-Net", 3DV 2016, with the sums of probabilities instead of those of their squares.
 */
final class DiceLoss {
    private static final double SMOOTHING = 1e-5;

    private DiceLoss() {}

    /**
     * The mean over samples and channels of {@code 1 - (2 sum(p t) + 1e-5) / (sum p + sum t + 1e-5)}, where p is the sigmoid of
     * the logits and the sums are over the voxels.
     *
     * @param logits (samples, channels, depth, height, width)
     * @param targets the same shape, 0 or 1
     */
    static Tensor of(Tensor logits, Tensor targets) {
        Tensor probabilities = logits.sigmoid();
        Tensor overlap =
                overVoxels(probabilities.mul(targets)).mul(new Scalar(2.0)).add(new Scalar(SMOOTHING));
        Tensor total = overVoxels(probabilities).add(overVoxels(targets)).add(new Scalar(SMOOTHING));
        return overlap.div(total).neg().add(new Scalar(1.0)).mean();
    }

    private static Tensor overVoxels(Tensor x) {
        return x.sum(2, 3, 4);
    }
}
