package io.hvd.top;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The kernel's facts of a process; see proc(5).
 *
 * @param state such as R, S, or T for one that is stopped
 * @param cpuTicks time on the CPU. Whatever its own clock does, Linux tells it to programs in ticks of a hundredth of a second
 * @param residentBytes memory; 0 for a process that has ended and whose parent has not asked how
 * @param atNanos when this was read, in {@link System#nanoTime()}
 */
record ProcessFacts(long pid, char state, long cpuTicks, long residentBytes, long atNanos) {
    private static final int STATE = 0;
    private static final int USER_TICKS = 11;
    private static final int SYSTEM_TICKS = 12;
    private static final Pattern RESIDENT = Pattern.compile("^VmRSS:\\s+(\\d{1,15}) kB$", Pattern.MULTILINE);
    private static final long KIB = 1024;
    private static final double NANOS_PER_TICK = 1e7;
    private static final double PERCENT = 100;

    /** Empty if the process has ended. */
    static Optional<ProcessFacts> read(Path folder) {
        try {
            String stat = Files.readString(folder.resolve("stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ");
            Matcher resident = RESIDENT.matcher(Files.readString(folder.resolve("status")));
            return Optional.of(new ProcessFacts(
                    Long.parseLong(folder.getFileName().toString()),
                    fields[STATE].charAt(0),
                    Long.parseLong(fields[USER_TICKS]) + Long.parseLong(fields[SYSTEM_TICKS]),
                    resident.find() ? Long.parseLong(resident.group(1)) * KIB : 0,
                    System.nanoTime()));
        } catch (IOException | RuntimeException e) {
            return Optional.empty();
        }
    }

    boolean isStopped() {
        return state == 'T' || state == 't';
    }

    /** Percent of one core that it has used since an earlier look; 0 without one. */
    double cpuPercent(Optional<ProcessFacts> earlier) {
        return earlier.filter(then -> then.atNanos < atNanos)
                .map(then -> PERCENT * (cpuTicks - then.cpuTicks) * NANOS_PER_TICK / (atNanos - then.atNanos))
                .orElse(0.0);
    }
}
