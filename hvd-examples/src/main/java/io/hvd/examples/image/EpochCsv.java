package io.hvd.examples.image;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Locale;

/** Adds a line for every epoch to a file of comma-separated values: its beginning (UTC) and its duration in seconds. */
record EpochCsv(Path file) {
    void add(Instant start, double seconds) throws IOException {
        String line = String.format(Locale.ROOT, "%s,%.3f%n", start, seconds);
        ResultFile.append(file, "start,seconds\n", line);
    }
}
