package io.hvd.optimizer.reduce;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/**
 * Sends the places and signs of the elements that are larger than a threshold, each for the threshold itself, and adds what this
 * leaves out to the next step's gradient. An element takes 4 bytes; where more than a sixteenth of a gradient's elements is sent,
 * two bits for each of its elements are fewer.
 *
 * <p>(N. Strom, "Scalable Distributed DNN Training Using Commodity GPU Cloud Computing", Interspeech 2015; Deeplearning4j has it
 * too, with the clipping of the memory.)
 *
 * <p>A reducer belongs to one optimizer and keeps a number for each element. It drops them when the optimizer takes over
 * another state; they are not part of a checkpoint. If a gradient of a rank is not finite, its average is NaN everywhere. While
 * a rank has joined, it fails.
 */
public final class Threshold extends SparseReducer {
    /** The count of a gradient that is sent with two bits for each element. */
    private static final int DENSE = -1;

    private static final int PER_INT = 16;

    private final float threshold;
    private final double clipAt;
    private final int clipEvery;

    /** @param threshold above 0, a size that few elements of the gradients have */
    public Threshold(double threshold) {
        this(threshold, Double.POSITIVE_INFINITY, 1);
    }

    /**
     * A threshold with a memory that forgets: what was left out is cut off at so many thresholds, every so many steps.
     *
     * @param clipAt thresholds, such as 5
     * @param clipEvery steps, such as 5
     */
    public Threshold(double threshold, double clipAt, int clipEvery) {
        require((float) threshold > 0 && threshold < Float.MAX_VALUE, "threshold", threshold, "a number above 0");
        require(clipAt >= 1, "clipAt", clipAt, "a number of thresholds, 1 or more");
        require(clipEvery >= 1, "clipEvery", clipEvery, "a number of steps, 1 or more");
        this.threshold = (float) threshold;
        this.clipAt = clipAt;
        this.clipEvery = clipEvery;
    }

    private static void require(boolean holds, String name, Object found, String expected) {
        if (!holds) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "Threshold: " + name + " is " + found + ", expected " + expected);
        }
    }

    @Override
    boolean compresses(int elements) {
        return elements > 2 * PER_INT;
    }

    @Override
    void encode(float[] row, IntRow out) {
        int header = out.length();
        out.add(0);
        int count = 0;
        for (float value : row) {
            count += Math.abs(value) >= threshold ? 1 : 0;
        }
        if (count > row.length / PER_INT) {
            out.set(header, DENSE);
            encodeDense(row, out);
            return;
        }
        out.set(header, count);
        for (int i = 0; i < row.length; i++) {
            if (Math.abs(row[i]) >= threshold) {
                out.add(i << 1 | (row[i] < 0 ? 1 : 0));
            }
        }
    }

    /** 1 for plus and 2 for minus, the first element in the lowest bits. */
    private void encodeDense(float[] row, IntRow out) {
        for (int from = 0; from < row.length; from += PER_INT) {
            int bits = 0;
            for (int i = from; i < Math.min(row.length, from + PER_INT); i++) {
                int sign = row[i] >= threshold ? 1 : row[i] <= -threshold ? 2 : 0;
                bits |= sign << 2 * (i - from);
            }
            out.add(bits);
        }
    }

    @Override
    int addDecoded(int[] from, int at, float sign, float[] to) {
        float step = sign * threshold;
        if (from[at] == DENSE) {
            return addDense(from, at + 1, step, to);
        }
        int end = at + 1 + from[at];
        for (int i = at + 1; i < end; i++) {
            to[from[i] >>> 1] += (from[i] & 1) == 0 ? step : -step;
        }
        return end;
    }

    private static int addDense(int[] from, int at, float step, float[] to) {
        for (int i = 0; i < to.length; i++) {
            int sign = from[at + i / PER_INT] >>> 2 * (i % PER_INT) & 3;
            to[i] += sign == 1 ? step : sign == 2 ? -step : 0;
        }
        return at + (to.length + PER_INT - 1) / PER_INT;
    }

    @Override
    void leftOver(float[] row, long step) {
        if (clipAt < Double.POSITIVE_INFINITY && (step + 1) % clipEvery == 0) {
            float most = (float) (clipAt * threshold);
            for (int i = 0; i < row.length; i++) {
                row[i] = Math.max(-most, Math.min(most, row[i]));
            }
        }
    }

    @Override
    public String settings() {
        return "Threshold of " + threshold + ", clipped at " + clipAt + " every " + clipEvery;
    }
}
