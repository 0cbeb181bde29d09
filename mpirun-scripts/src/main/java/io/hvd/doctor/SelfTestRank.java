package io.hvd.doctor;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.util.Locale;

/** One of the two ranks of {@code --self-test}: sums a tensor that is larger than a stage buffer. */
final class SelfTestRank {

    /** The beginning of the line that says that the sum is right. */
    static final String DONE = "self-test: ";

    private static final int COUNT = 3_000_001;

    private SelfTestRank() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            float[] values = new float[COUNT];
            for (int i = 0; i < COUNT; i++) {
                values[i] = hvd.rank() + i % 5;
            }
            long start = System.nanoTime();
            float[] sums = (float[]) hvd.allreduce("self-test", Tensor.of(values), AllreduceOptions.sum())
                    .toArray();
            double millis = (System.nanoTime() - start) / 1e6;
            check(sums, hvd.size());
            if (hvd.rank() == 0) {
                System.out.printf(
                        Locale.ROOT,
                        "%sallreduce of %d floats on %d ranks is right, %.1f ms%n",
                        DONE,
                        COUNT,
                        hvd.size(),
                        millis);
            }
        }
    }

    private static void check(float[] sums, int ranks) {
        for (int i = 0; i < COUNT; i++) {
            float expected = ranks * (ranks - 1) / 2 + ranks * (i % 5);
            if (sums[i] != expected) {
                throw new IllegalStateException("element " + i + " is " + sums[i] + ", expected " + expected);
            }
        }
    }
}
