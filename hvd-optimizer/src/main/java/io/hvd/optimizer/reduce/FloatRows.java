package io.hvd.optimizer.reduce;

import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Arrays;

/** Adds gradients to rows of floats. */
final class FloatRows {
    private static final int PIECE = 1 << 14;

    private FloatRows() {}

    /** A sum of products with zero is zero, unless one of the numbers is not finite: a loop without a branch. */
    static boolean isFinite(float[] values, int from, int to) {
        float zero = 0;
        for (int i = from; i < to; i++) {
            zero += values[i] * 0;
        }
        return zero == 0;
    }

    /** Adds a float32 tensor to a row of as many numbers. */
    static void add(Tensor gradient, float[] to) {
        float[] piece = new float[Math.min(PIECE, to.length)];
        for (int from = 0; from < to.length; from += PIECE) {
            int count = Math.min(PIECE, to.length - from);
            gradient.hostMemory().read(DType.FLOAT32, from, piece, count);
            for (int i = 0; i < count; i++) {
                to[from + i] += piece[i];
            }
        }
    }

    static void write(float[] values, Tensor gradient) {
        gradient.hostMemory().write(DType.FLOAT32, 0, values, values.length);
    }

    static void fill(Tensor gradient, float value) {
        float[] all = new float[(int) gradient.elements()];
        Arrays.fill(all, value);
        write(all, gradient);
    }
}
