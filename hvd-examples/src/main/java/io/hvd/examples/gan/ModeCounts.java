package io.hvd.examples.gan;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.util.Arrays;

/**
 * The places of generated points.
 *
 * @param near points near each mode
 * @param points all points
 */
record ModeCounts(long[] near, long points) {
    /** Counts points. @param coordinates x and y of each point in turn */
    static ModeCounts of(RingOfPoints ring, float[] coordinates) {
        long[] near = new long[ring.modes()];
        for (int i = 0; i < coordinates.length; i += RingOfPoints.COORDINATES) {
            int mode = ring.modeOf(coordinates[i], coordinates[i + 1]);
            if (mode != RingOfPoints.NONE) {
                near[mode]++;
            }
        }
        return new ModeCounts(near, coordinates.length / RingOfPoints.COORDINATES);
    }

    /** The sums over all ranks, exactly; every rank calls it. */
    ModeCounts ofAllRanks(HvdContext hvd) {
        long[] mine = Arrays.copyOf(near, near.length + 1);
        mine[near.length] = points;
        long[] all = (long[]) hvd.allreduce("gan.modes", Tensor.of(mine), AllreduceOptions.sum())
                .toArray();
        return new ModeCounts(Arrays.copyOf(all, near.length), all[near.length]);
    }

    /** The share of the points that are near a mode. */
    double share() {
        return Arrays.stream(near).sum() / (double) points;
    }

    /** The number of modes that have at least a quarter of the points that an even distribution would give them. */
    int covered() {
        double even = points / (double) near.length;
        return (int) Arrays.stream(near).filter(count -> count >= even / 4).count();
    }
}
