package io.hvd.launch;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;

/** Program of a test job: adds up tensors of several sizes, often enough for a static plan, and looks at every element. */
final class TlsProgram {
    private static final int STEPS = 30;

    private TlsProgram() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            for (int step = 0; step < STEPS; step++) {
                for (int size : new int[] {1, 10_007, 300_000}) {
                    float[] mine = new float[size];
                    for (int i = 0; i < size; i++) {
                        mine[i] = hvd.rank() + i % 97 + step;
                    }
                    float[] sum = hvd.allreduce("of " + size, Tensor.of(mine), AllreduceOptions.sum())
                            .toFloatArray();
                    for (int i = 0; i < size; i++) {
                        float expected = hvd.size() * ((hvd.size() - 1) / 2F + i % 97 + step);
                        if (sum[i] != expected) {
                            throw new IllegalStateException("element " + i + " of " + size + " is " + sum[i]
                                    + ", expected " + expected + " in step " + step);
                        }
                    }
                }
            }
            System.out.println("rank " + hvd.rank() + " all right");
        }
    }
}
