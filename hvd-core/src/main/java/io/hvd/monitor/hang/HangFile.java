package io.hvd.monitor.hang;

import io.hvd.file.RegularFile;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/**
 * Writes the full report of a hang to a file that only its owner can read, because it contains stacks. The file's name
 * can be foreseen, so an existing file or link is left alone.
 */
public final class HangFile {
    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss", Locale.ROOT);

    private static final int MOST_OF_A_NAME = 100;

    private HangFile() {}

    /** The file's absolute path or, because the job must end in any case, the reason why there is none. */
    public static String write(Path folder, HangSituation situation) {
        LocalDateTime when = LocalDateTime.now(ZoneId.systemDefault());
        String name = "hvd-hang-" + STAMP.format(when) + "-" + situation.reporter();
        try {
            Path file = fresh(folder.toAbsolutePath(), name);
            return Files.writeString(file, HangText.inFull(situation, when.toString()))
                    .toString();
        } catch (IOException e) {
            return "not written into " + folder.toAbsolutePath() + ", because " + e;
        }
    }

    /** Makes the folder if it does not exist: a report after minutes of waiting must not be lost for lack of one. */
    private static Path fresh(Path folder, String name) throws IOException {
        if (!Files.isDirectory(folder)) { // a link to one would be refused
            Files.createDirectories(folder);
        }
        for (int i = 1; i < MOST_OF_A_NAME; i++) {
            try {
                return Files.createFile(
                        folder.resolve(name + (i == 1 ? "" : "-" + i) + ".txt"), RegularFile.onlyMine());
            } catch (FileAlreadyExistsException e) {
                continue;
            }
        }
        throw new FileAlreadyExistsException(folder.resolve(name + ".txt").toString());
    }
}
