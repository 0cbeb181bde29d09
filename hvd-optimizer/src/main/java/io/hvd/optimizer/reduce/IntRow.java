package io.hvd.optimizer.reduce;

import io.hvd.tensor.Tensor;
import java.util.Arrays;

/** Integers that are written one after the other. */
final class IntRow {
    private int[] values = new int[1 << 10];
    private int length;

    void add(int value) {
        if (length == values.length) {
            values = Arrays.copyOf(values, Math.multiplyExact(2, values.length));
        }
        values[length++] = value;
    }

    void set(int at, int value) {
        values[at] = value;
    }

    int length() {
        return length;
    }

    /** A copy. */
    int[] toArray() {
        return Arrays.copyOf(values, length);
    }

    Tensor toTensor() {
        return Tensor.of(toArray());
    }
}
