package io.hvd.faults;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/** Trains until autotuning has ended on all ranks, with results that every step checks, and prints what it has found. */
public final class TuningProgram {
    private static final int[] ELEMENTS = {40_000, 10, 20_000, 1, 3_000};
    private static final int MOST_STEPS = 100_000;

    private TuningProgram() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            int steps = 0;
            while (step(hvd, steps++) < hvd.size()) {
                if (steps == MOST_STEPS) {
                    throw new AssertionError("autotuning has not ended after " + steps + " steps");
                }
            }
            System.out.println(
                    "TUNED " + hvd.tunedSettings() + " " + hvd.autotuneResult().orElseThrow());
        }
    }

    /** @return the number of ranks on which autotuning has ended */
    private static int step(HvdContext hvd, int step) {
        Tensor over = Tensor.of(hvd.autotuneResult().isPresent() ? 1f : 0f);
        List<Tensor> tensors = new ArrayList<>();
        List<Handle> handles = new ArrayList<>();
        for (int i = 0; i < ELEMENTS.length; i++) {
            float[] values = new float[ELEMENTS[i]];
            values[values.length - 1] = step % 1000 + i + hvd.rank();
            tensors.add(Tensor.of(values));
            handles.add(hvd.allreduceInPlaceAsync("t" + i, tensors.get(i), AllreduceOptions.sum()));
        }
        handles.add(hvd.allreduceInPlaceAsync("over", over, AllreduceOptions.sum()));
        handles.forEach(Handle::synchronize);
        int ranks = hvd.size();
        for (int i = 0; i < ELEMENTS.length; i++) {
            float[] sum = tensors.get(i).toFloatArray();
            float expected = ranks * (step % 1000 + i) + ranks * (ranks - 1) / 2f;
            if (sum[sum.length - 1] != expected) {
                throw new AssertionError(
                        "step " + step + ", tensor " + i + ": " + sum[sum.length - 1] + " instead of " + expected);
            }
        }
        return Math.round(over.toFloatArray()[0]);
    }
}
