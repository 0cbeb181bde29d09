package io.hvd.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * The times that Linux has counted until one moment, in its ticks. Files and fields are those of proc(5).
 *
 * @param capacity time of all cores together, idle or not
 * @param busy time in which the cores did something, or in which a host's other machines had them ("steal")
 * @param ours processor time of this process and of its children that have ended, with theirs
 */
record ProcessorTimes(long capacity, long busy, long ours) {
    private static final Path MACHINE = Path.of("/proc/stat");
    private static final Path PROCESS = Path.of("/proc/self/stat");

    /** Fields of the machine's line after its name: user, nice, system, idle, iowait, irq, softirq, steal. */
    private static final int MACHINE_FIELDS = 8;

    private static final int IDLE = 3;
    private static final int IO_WAIT = 4;

    /** The place of utime among the fields after the command; stime, cutime and cstime follow. */
    private static final int USER_TIME = 11;

    static ProcessorTimes now() throws IOException {
        return of(Files.readString(MACHINE), Files.readString(PROCESS));
    }

    /**
     * @param machine the content of /proc/stat
     * @param process the content of /proc/self/stat
     */
    static ProcessorTimes of(String machine, String process) {
        long[] times = numbers(machine.lines().findFirst().orElse("").replaceFirst("^cpu +", ""));
        if (times.length < MACHINE_FIELDS) {
            throw new IllegalArgumentException(
                    "/proc/stat begins with " + times.length + " numbers, expected at least " + MACHINE_FIELDS);
        }
        long capacity = Arrays.stream(times, 0, MACHINE_FIELDS).sum();
        // The command stands in brackets and may have spaces and brackets in it.
        String[] own = process.substring(process.lastIndexOf(')') + 1).strip().split(" ");
        long ours = Arrays.stream(own, USER_TIME, USER_TIME + 4)
                .mapToLong(Long::parseLong)
                .sum();
        return new ProcessorTimes(capacity, capacity - times[IDLE] - times[IO_WAIT], ours);
    }

    private static long[] numbers(String line) {
        return Arrays.stream(line.strip().split(" +"))
                .filter(word -> !word.isEmpty())
                .mapToLong(Long::parseLong)
                .toArray();
    }

    /** The time since an earlier moment in which other processes had the cores; never negative. */
    long othersSince(ProcessorTimes before) {
        return Math.max(0, busy - before.busy - (ours - before.ours));
    }

    long capacitySince(ProcessorTimes before) {
        return capacity - before.capacity;
    }
}
