package io.hvd.examples.gpu;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import io.hvd.examples.gpu.CheckLine.Outcome;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * The part of G2 and G3 in which the last rank's process ends without a word while all ranks are in one allreduce after
 * the other. Each other rank must get an error that names it, within seconds, instead of waiting on the GPU for ever.
 */
final class DyingRank {
    private static final int SETTLING_CALLS = 20;
    private static final int MILLIS_TO_LIVE = 500;
    private static final double MOST_SECONDS = 10;
    private static final int EXIT_CODE = 86;

    private DyingRank() {}

    /** Ends one rank; on the others it prints their line and returns what hvd has thrown, which ends the job. */
    static HvdException run(HvdContext hvd, long bytes) {
        String check = check(hvd.backend().startsWith("nccl "));
        int last = hvd.size() - 1;
        // The process ends with the memory. To free it here would wait for a kernel that waits for the dead rank.
        DeviceArray array = new DeviceArray(bytes);
        array.fillAsync(0, null);
        Tensor tensor = array.tensor(hvd.device(), DType.FLOAT32);
        for (int i = 0; i < SETTLING_CALLS; i++) {
            call(hvd, tensor);
        }
        if (hvd.rank() == last) {
            dieSoon();
        }
        return callUntilItFails(hvd, tensor, check, last);
    }

    static String check(boolean byNccl) {
        return (byNccl ? "G2" : "G3") + ".rank-dies";
    }

    private static void call(HvdContext hvd, Tensor tensor) {
        hvd.allreduceInPlace("gpu_check.rank_dies", tensor, AllreduceOptions.sum());
    }

    private static void dieSoon() {
        Thread thread = new Thread(
                () -> {
                    try {
                        TimeUnit.MILLISECONDS.sleep(MILLIS_TO_LIVE);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    Runtime.getRuntime().halt(EXIT_CODE);
                },
                "gpu-check-dies");
        thread.setDaemon(true);
        thread.start();
    }

    private static HvdException callUntilItFails(HvdContext hvd, Tensor tensor, String check, int last) {
        long before = System.nanoTime();
        try {
            while (true) {
                before = System.nanoTime();
                call(hvd, tensor);
            }
        } catch (HvdException e) {
            System.out.println(line(check, hvd.rank(), last, (System.nanoTime() - before) / 1e9, e.getMessage()));
            System.out.flush();
            return e;
        }
    }

    /** @param seconds the time from the beginning of the call that failed to its error */
    static CheckLine line(String check, int rank, int last, double seconds, String message) {
        boolean named = message.matches("(?s).*\\brank " + last + "\\b.*");
        String seen = String.format(
                Locale.ROOT,
                "rank %d ended without a word in the middle of an allreduce; rank %d threw after %.1f s: %s",
                last,
                rank,
                seconds,
                message);
        if (seconds > MOST_SECONDS) {
            return new CheckLine(check, Outcome.FAIL, "later than after " + MOST_SECONDS + " s: " + seen);
        }
        return new CheckLine(
                check, named ? Outcome.PASS : Outcome.FAIL, named ? seen : "the cause is missing: " + seen);
    }
}
