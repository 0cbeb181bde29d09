package io.hvd.train.log;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The most memory that this process has had resident, as Linux counts it ({@code VmHWM} of {@code /proc/self/status}). */
public final class PeakMemory {
    private static final Pattern LINE = Pattern.compile("(?m)^VmHWM:\\s+(\\d+) kB$");

    private PeakMemory() {}

    /** In MiB, rounded down; 0 where Linux does not say. */
    public static long mebibytes() {
        try {
            Matcher line = LINE.matcher(Files.readString(Path.of("/proc/self/status")));
            return line.find() ? Long.parseLong(line.group(1)) / 1024 : 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
