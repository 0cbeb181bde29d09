package io.hvd.optimizer.reduce;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/**
 * Sends the largest elements of each gradient, with their places, and adds the others to the next step's gradient. An element
 * takes 8 bytes instead of 4, so gradients of which more than nearly half would be sent, such as those of a few elements, travel as
 * they are.
 *
 * <p>(A. F. Aji and K. Heafield, "Sparse Communication for Distributed Gradient Descent", EMNLP 2017; Y. Lin et al., "Deep Gradient
 * Compression", ICLR 2018, without its correction of the momentum.)
 *
 * <p>A reducer belongs to one optimizer and keeps a number for each element. It drops them when the optimizer takes over
 * another state; they are not part of a checkpoint. If a gradient of a rank is not finite, its average is NaN everywhere. While
 * a rank has joined, it fails.
 */
public final class TopK extends SparseReducer {
    private final double fraction;

    /** @param fraction of the elements of each gradient that are sent, rounded up; above 0 and at most 1 */
    public TopK(double fraction) {
        if (!(fraction > 0 && fraction <= 1)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "TopK: fraction is " + fraction + ", expected a number above 0, at most 1");
        }
        this.fraction = fraction;
    }

    private int count(int elements) {
        return (int) Math.ceil(fraction * elements);
    }

    @Override
    boolean compresses(int elements) {
        return 2L * count(elements) + 1 < elements;
    }

    @Override
    void encode(float[] row, IntRow out) {
        int count = count(row.length);
        int least = Selection.largest(row, count);
        int ofEqual = count;
        for (float value : row) {
            ofEqual -= Selection.size(value) > least ? 1 : 0;
        }
        out.add(count);
        for (int i = 0; i < row.length; i++) {
            int size = Selection.size(row[i]);
            boolean isOneOfEqual = size == least && ofEqual-- > 0; // rows of equal numbers too give as many
            if (size > least || isOneOfEqual) {
                out.add(i);
                out.add(Float.floatToRawIntBits(row[i]));
            }
        }
    }

    @Override
    int addDecoded(int[] from, int at, float sign, float[] to) {
        int end = at + 1 + 2 * from[at];
        for (int i = at + 1; i < end; i += 2) {
            to[from[i]] += sign * Float.intBitsToFloat(from[i + 1]);
        }
        return end;
    }

    @Override
    public String settings() {
        return "TopK of " + fraction;
    }
}
