package io.hvd.contract.explorer;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * How long threads of this process that could run have waited for a core, and how long a host of virtual machines has taken
 * cores from this one. It is what a busy machine adds to an operation; a thread that waits for another one adds nothing.
 * A background thread reads what Linux counts; where it counts nothing, nobody has waited.
 */
final class Starvation implements AutoCloseable {
    private static final long PERIOD_MILLIS = 100;
    private static final Path TASKS = Path.of("/proc/self/task");
    private static final Path CORES = Path.of("/proc/stat");
    /** The kernel's unit of the time that was taken, by its interface to programs. */
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    /** The place of that time in the first line of /proc/stat, behind the line's name. */
    private static final int TAKEN = 8;

    private final Map<Path, Long> known = new HashMap<>();
    private long[] samples = new long[256];
    private int count;
    private long total;
    private final Thread sampler = new Thread(this::sampleAlways, "explorer-starvation");

    private Starvation() {}

    static Starvation watch() {
        Starvation starvation = new Starvation();
        starvation.sample();
        starvation.sampler.setDaemon(true);
        starvation.sampler.start();
        return starvation;
    }

    private void sampleAlways() {
        try {
            while (true) {
                TimeUnit.MILLISECONDS.sleep(PERIOD_MILLIS);
                sample();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // closed
        }
    }

    private synchronized void sample() {
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(TASKS)) {
            for (Path task : tasks) {
                count(task.resolve("schedstat"), 1, 1);
            }
        } catch (IOException e) {
            return; // no Linux
        }
        count(CORES, TAKEN, TICK_NANOS);
        if (count == samples.length) {
            samples = Arrays.copyOf(samples, 2 * count);
        }
        samples[count++] = System.nanoTime();
        samples[count++] = total;
    }

    /** Adds what a number in a file has grown by since it was read last, or since its thread began. */
    private void count(Path file, int field, long unit) {
        try {
            long now = Long.parseLong(Files.readString(file).split("\\s+", field + 2)[field]) * unit;
            Long before = known.put(file, now);
            if (before != null || count > 0) {
                total += Math.max(0, now - (before == null ? 0 : before));
            }
        } catch (IOException | RuntimeException e) {
            known.remove(file); // that thread has ended, or nothing is counted here
        }
    }

    /** Times of {@link System#nanoTime}, each with the nanoseconds that were waited until then since the first of them. */
    synchronized long[] samples() {
        sample();
        return Arrays.copyOf(samples, count);
    }

    /** What was waited at most between two times, in nanoseconds. */
    static long between(long[] samples, long from, long to) {
        long before = 0;
        long after = 0;
        for (int i = 0; i < samples.length; i += 2) {
            before = samples[i] - from <= 0 ? samples[i + 1] : before;
            after = samples[i + 1];
            if (samples[i] - to >= 0) {
                break;
            }
        }
        return after - before;
    }

    @Override
    public void close() {
        sampler.interrupt();
    }
}
