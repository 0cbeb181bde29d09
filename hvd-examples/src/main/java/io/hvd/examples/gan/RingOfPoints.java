package io.hvd.examples.gan;

import io.hvd.data.Dataset;
import io.hvd.data.SplitMix64;
import java.util.Objects;
import java.util.Random;

/**
 * Points of the plane around modes that lie evenly on a circle of radius 1. It is the usual test of whether a generative
 * net finds all modes or only some. A point depends on the seed and its index alone.
 *
 * <p>L. Metz, B. Poole, D. Pfau, J. Sohl-Dickstein, "Unrolled Generative Adversarial Networks", ICLR 2017, with eight modes.
 *
 * @param deviation standard deviation of the points around their mode, in each direction
 */
record RingOfPoints(int modes, double deviation, int size, long seed) implements Dataset<float[]> {
    static final int COORDINATES = 2;

    /** A point is near a mode up to this many standard deviations; 99.97 % of the ring's own points are. */
    private static final double NEAR = 4;

    /** Stands for no mode. */
    static final int NONE = -1;

    @Override
    public float[] get(int index) {
        Objects.checkIndex(index, size);
        Random random = new Random(new SplitMix64(seed + index).nextLong());
        int mode = random.nextInt(modes);
        return new float[] {
            (float) (x(mode) + deviation * random.nextGaussian()), (float) (y(mode) + deviation * random.nextGaussian())
        };
    }

    private double x(int mode) {
        return Math.cos(2 * Math.PI * mode / modes);
    }

    private double y(int mode) {
        return Math.sin(2 * Math.PI * mode / modes);
    }

    /** The mode that a point is near, or {@link #NONE}. */
    int modeOf(float x, float y) {
        int mode = Math.floorMod(Math.round(Math.atan2(y, x) / (2 * Math.PI) * modes), modes);
        return Math.hypot(x - x(mode), y - y(mode)) <= NEAR * deviation ? mode : NONE;
    }
}
