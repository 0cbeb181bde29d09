package io.hvd.monitor;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;

/**
 * Puts the full report of a hang where its reader finds it, for its owner only: it holds stacks. Its name can be
 * foreseen, so a file or a link that is there already is left alone.
 */
final class HangFile {
    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss");

    private static final int MOST_OF_A_NAME = 100;

    private HangFile() {}

    /** The file's absolute path, or, because the job must end all the same, why there is none. */
    static String write(Path folder, Situation situation) {
        LocalDateTime when = LocalDateTime.now();
        String name = "hvd-hang-" + STAMP.format(when) + "-" + situation.reporter();
        try {
            Path file = fresh(folder.toAbsolutePath(), name);
            return Files.writeString(file, HangText.inFull(situation, when.toString()))
                    .toString();
        } catch (IOException | UnsupportedOperationException e) {
            return "not written into " + folder.toAbsolutePath() + ", because " + e;
        }
    }

    /** The folder is made where it is not there yet: after minutes of waiting a report is not to be lost for want of one. */
    private static Path fresh(Path folder, String name) throws IOException {
        if (!Files.isDirectory(folder)) { // a link to one would be refused
            Files.createDirectories(folder);
        }
        var onlyMine = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
        for (int i = 1; i < MOST_OF_A_NAME; i++) {
            try {
                return Files.createFile(folder.resolve(name + (i == 1 ? "" : "-" + i) + ".txt"), onlyMine);
            } catch (FileAlreadyExistsException e) {
                continue;
            }
        }
        throw new FileAlreadyExistsException(folder.resolve(name + ".txt").toString());
    }
}
