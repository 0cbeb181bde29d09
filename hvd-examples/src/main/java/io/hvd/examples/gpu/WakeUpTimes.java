package io.hvd.examples.gpu;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

/**
 * A part of check G7: how long after the GPU has finished an allreduce a thread goes on that waits for it. The
 * allreduce comes after work of some milliseconds on the program's own stream, and another thread looks at that stream without a
 * pause.
 */
final class WakeUpTimes implements AutoCloseable {
    private static final int CALLS = 40;
    private static final long WORK_NANOS = 4_000_000;
    private static final long FILL_BYTES = 1 << 24;
    private static final int MOST_FILLS = 1 << 12;

    private final HvdContext hvd;
    private final UserStream stream = new UserStream();
    private final DeviceArray work = new DeviceArray(FILL_BYTES);
    private final DeviceArray array = new DeviceArray(4);
    private final Tensor tensor;
    private final int fills;

    private WakeUpTimes(HvdContext hvd) {
        this.hvd = hvd;
        this.tensor = array.tensor(hvd.device(), DType.FLOAT32, stream.handle(), Shape.of(1));
        array.fillAsync(0, stream.queue());
        this.fills = enoughFills();
    }

    /** A line with this rank's times behind it; all ranks call this. */
    static CheckLine addedTo(CheckLine line, HvdContext hvd) {
        try (WakeUpTimes times = new WakeUpTimes(hvd)) {
            double[] micros = new double[CALLS];
            for (int i = 0; i < CALLS; i++) {
                micros[i] = times.call();
            }
            Arrays.sort(micros);
            String seen = String.format(
                    Locale.ROOT,
                    "; a waiting thread goes on %.1f us after the GPU (median), %.1f us (90%%)",
                    micros[CALLS / 2],
                    micros[CALLS * 9 / 10]);
            return new CheckLine(line.name(), line.outcome(), line.reason() + seen);
        }
    }

    private int enoughFills() {
        int number = 1;
        while (number < MOST_FILLS && nanosOf(number) < WORK_NANOS) {
            number *= 2;
        }
        return number;
    }

    private long nanosOf(int number) {
        long begun = System.nanoTime();
        fill(number);
        stream.await();
        return System.nanoTime() - begun;
    }

    private void fill(int number) {
        for (int i = 0; i < number; i++) {
            work.fillAsync(i, stream.queue());
        }
    }

    private double call() {
        fill(fills);
        Handle handle = hvd.allreduceInPlaceAsync("gpu_check.wake_up", tensor, AllreduceOptions.sum());
        CompletableFuture<Long> goesOn = CompletableFuture.supplyAsync(() -> nanosAfter(handle), WakeUpTimes::start);
        // After this time hvd has queued the allreduce, for which the stream then waits, and the work is not done yet.
        LockSupport.parkNanos(WORK_NANOS / 2);
        long ended = stream.nanosWhenDone();
        return (goesOn.join() - ended) / 1e3;
    }

    private static long nanosAfter(Handle handle) {
        handle.synchronize();
        return System.nanoTime();
    }

    private static void start(Runnable task) {
        new Thread(task, "gpu-check-wake-up").start();
    }

    @Override
    public void close() {
        work.close();
        array.close();
        stream.close();
    }
}
