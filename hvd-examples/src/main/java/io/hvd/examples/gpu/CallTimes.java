package io.hvd.examples.gpu;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.examples.gpu.CheckLine.Outcome;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.Locale;

/**
 * Check G7: the time of a blocking allreduce of a GPU tensor through the whole engine, by size; medians in
 * microseconds.
 */
final class CallTimes {
    private static final long SECONDS_PER_SIZE = 1;
    private static final int MOST_CALLS = 200;
    private static final int FEWEST_CALLS = 8;

    private CallTimes() {}

    static CheckLine check(HvdContext hvd, Extent extent) {
        StringBuilder table = new StringBuilder("bytes:microseconds");
        for (long bytes = 4; bytes <= extent.longestCallBytes(); bytes *= 4) {
            table.append(String.format(Locale.ROOT, " %d:%.1f", bytes, median(hvd, bytes)));
        }
        return new CheckLine("G7", Outcome.PASS, table + "; " + hvd.backend());
    }

    private static double median(HvdContext hvd, long bytes) {
        try (DeviceArray array = new DeviceArray(bytes)) {
            array.fillAsync(0, null);
            Tensor tensor = array.tensor(hvd.device(), DType.FLOAT32);
            // These calls also bring the ranks to stop negotiating. All ranks must make the same number of them.
            double first = 0;
            for (int i = 0; i < 2 * FEWEST_CALLS; i++) {
                first = call(hvd, tensor);
            }
            int calls = calls(hvd, first);
            double[] micros = new double[calls];
            for (int i = 0; i < calls; i++) {
                micros[i] = call(hvd, tensor);
            }
            Arrays.sort(micros);
            return micros[calls / 2];
        }
    }

    private static int calls(HvdContext hvd, double micros) {
        float slowest = hvd.allreduce(
                        "gpu_check.times", Tensor.of((float) micros), AllreduceOptions.of(io.hvd.tensor.ReduceOp.MAX))
                .item();
        return (int) Math.max(FEWEST_CALLS, Math.min(MOST_CALLS, SECONDS_PER_SIZE * 1e6 / slowest));
    }

    private static double call(HvdContext hvd, Tensor tensor) {
        long begun = System.nanoTime();
        hvd.allreduceInPlace("gpu_check.time." + tensor.bytes(), tensor, AllreduceOptions.sum());
        return (System.nanoTime() - begun) / 1e3;
    }
}
