package io.hvd.faults;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Arrays;

/** Rank 0 broadcasts, and after each broadcast sleeps until the other ranks ask for the next one, which they do when they have it. */
final class IdleSenderProgram {
    private static final int BROADCASTS = 40;
    /** More than Open MPI sends without asking the receiver. */
    private static final int FLOATS = 18_000;

    private IdleSenderProgram() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            for (int i = 0; i < BROADCASTS; i++) {
                float[] values = new float[FLOATS + 1_500 * i];
                Arrays.fill(values, hvd.rank() == 0 ? i : -1);
                Tensor brought = Tensor.wrap(values, DType.FLOAT32, Shape.of(values.length));
                for (float found : hvd.broadcast("tensor", brought, 0).toFloatArray()) {
                    if (found != i) {
                        throw new AssertionError("broadcast " + i + " brought " + found);
                    }
                }
            }
            System.out.println("rank " + hvd.rank() + " has all");
        }
    }
}
