package io.hvd.file;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A process, told from every other one: also from those of other hosts, of the same host before it was started anew,
 * and from those that have had its number.
 *
 * @param boot twelve digits of the number that the kernel draws when it starts; {@link #UNKNOWN} without /proc
 * @param pid the number by which the process knows itself; another PID namespace has other numbers
 * @param start when the process started, in the kernel's ticks
 */
record Owner(String boot, long pid, long start) {
    static final String UNKNOWN = "000000000000";

    private static final Pattern WORD = Pattern.compile("([0-9a-f]{12})-(\\d{1,18})-([0-9a-z]{1,12})");
    private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");
    private static final int STATE = 0;
    private static final int START = 19;

    static Owner thisProcess() {
        try {
            String boot = Files.readString(BOOT).replace("-", "").substring(0, UNKNOWN.length());
            String stat = Files.readString(stat("self"));
            long pid = Long.parseLong(stat.substring(0, stat.indexOf(' ')));
            return new Owner(boot, pid, Long.parseLong(fields(stat)[START]));
        } catch (IOException e) {
            return new Owner(UNKNOWN, ProcessHandle.current().pid(), 0);
        }
    }

    /** The owner as it stands in the name of a file. */
    String word() {
        return boot + "-" + pid + "-" + Long.toString(start, Character.MAX_RADIX);
    }

    static Optional<Owner> of(String word) {
        Matcher parts = WORD.matcher(word);
        return parts.matches()
                ? Optional.of(new Owner(
                        parts.group(1),
                        Long.parseLong(parts.group(2)),
                        Long.parseLong(parts.group(3), Character.MAX_RADIX)))
                : Optional.empty();
    }

    /** Whether both run, or ran, under the same kernel since it was started; false if that is not known. */
    boolean isBeside(Owner other) {
        return boot.equals(other.boot) && !boot.equals(UNKNOWN);
    }

    /** Whether this process sees it running. One of another PID namespace may run unseen. */
    boolean isSeenRunning() {
        try {
            String[] fields = fields(Files.readString(stat(String.valueOf(pid))));
            boolean ended = fields[STATE].matches("[ZXx]");
            return !ended && Long.parseLong(fields[START]) == start;
        } catch (NoSuchFileException e) {
            return false;
        } catch (IOException e) {
            return true; // to be on the safe side
        }
    }

    private static Path stat(String pid) {
        return Path.of("/proc", pid, "stat");
    }

    /** The fields behind the program's name, which is in brackets and may hold blanks and brackets. */
    private static String[] fields(String stat) {
        return stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    }
}
