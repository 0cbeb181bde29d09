package io.hvd.examples.image;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.Locale;

/** Adds a line for every epoch to a file of comma-separated values: when it began (UTC) and how many seconds it took. */
record EpochCsv(Path file) {
    void add(Instant start, double seconds) throws IOException {
        String head = Files.exists(file) ? "" : "start,seconds\n";
        String line = String.format(Locale.ROOT, "%s%s,%.3f%n", head, start, seconds);
        Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}
