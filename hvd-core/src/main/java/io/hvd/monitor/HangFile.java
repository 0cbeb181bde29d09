package io.hvd.monitor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;

/** Puts the full report of a hang where its reader finds it. */
final class HangFile {
    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss");

    private HangFile() {}

    /** The file's absolute path, or, because the job must end all the same, why there is none. */
    static String write(Path folder, Situation situation) {
        LocalDateTime when = LocalDateTime.now();
        Path file = folder.resolve("hvd-hang-" + STAMP.format(when) + "-" + situation.reporter() + ".txt")
                .toAbsolutePath();
        try {
            return Files.writeString(file, HangText.inFull(situation, when.toString()))
                    .toString();
        } catch (IOException e) {
            return "not written, because " + e;
        }
    }
}
