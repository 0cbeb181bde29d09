package io.hvd.monitor.view;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** The fields of {@code /proc/<pid>/stat} that show the state of a process; see proc(5). */
public record ProcessStat(char state, long startTicks) {
    /** The index of the state among the fields after the command's closing parenthesis; field 3 in proc(5). */
    private static final int STATE = 0;

    /** The index of the start time; field 22 in proc(5). */
    private static final int START = 19;

    private static final Pattern HIDING_PROC = Pattern.compile("\\S+ /proc proc \\S*\\bhidepid=(?!0\\b|off\\b).*");

    /** Reads the fields of a process; empty if there is no such process. */
    static Optional<ProcessStat> read(long pid) {
        try {
            return parse(Files.readString(Path.of("/proc/" + pid + "/stat")));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Whether a process that is not found does not exist, whatever its owner. */
    public static boolean showsEverything() {
        try {
            return showsEverything(Files.readAllLines(Path.of("/proc/self/mounts")));
        } catch (IOException e) {
            return false;
        }
    }

    /** @param mounts the mounts as proc(5) has them */
    public static boolean showsEverything(List<String> mounts) {
        return mounts.stream().noneMatch(HIDING_PROC.asMatchPredicate());
    }

    /** Parses a line. The command may contain spaces and parentheses, so it ends at the last parenthesis. */
    public static Optional<ProcessStat> parse(String line) {
        String[] fields = line.substring(line.lastIndexOf(')') + 1).strip().split(" ");
        return fields.length > START
                ? Optional.of(new ProcessStat(fields[STATE].charAt(0), Long.parseLong(fields[START])))
                : Optional.empty();
    }
}
