package io.hvd.error;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A word to the launcher, beside the {@link FailureRecord}s: the processes of all ranks end well although MPI_Finalize has
 * not returned. Whatever the launcher's own end looks like then, the job has not failed.
 */
public final class SuccessMarker {
    private static final String NAME = "all-ranks-end-well";

    private SuccessMarker() {}

    /** @param directory the folder of the job's failure records */
    public static void leave(Path directory) throws IOException {
        try {
            Files.createFile(directory.resolve(NAME));
        } catch (FileAlreadyExistsException e) {
            // Said already.
        }
    }

    /** Whether a rank has left this word in the directory of the job's failure records. */
    public static boolean isIn(Path directory) {
        return Files.exists(directory.resolve(NAME));
    }
}
