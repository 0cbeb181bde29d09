package io.hvd.monitor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** The part of {@code /proc/<pid>/stat} that tells what has become of a process; see proc(5). */
record ProcessStat(char state, long startTicks) {
    /** Counted after the command's closing parenthesis; in proc(5) these are fields 3 and 22. */
    private static final int STATE = 0;

    private static final int START = 19;

    /** Empty if there is no such process. */
    static Optional<ProcessStat> read(long pid) {
        try {
            return parse(Files.readString(Path.of("/proc/" + pid + "/stat")));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** A command may contain spaces and parentheses, so the last one counts. */
    static Optional<ProcessStat> parse(String line) {
        String[] fields = line.substring(line.lastIndexOf(')') + 1).strip().split(" ");
        return fields.length > START
                ? Optional.of(new ProcessStat(fields[STATE].charAt(0), Long.parseLong(fields[START])))
                : Optional.empty();
    }
}
