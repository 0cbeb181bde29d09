package io.hvd.launch.mpi;

import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The number of open files that mpirun needs, by which it fails natively: with fewer, Open MPI 4.1.4 hangs or aborts with
 * words about pipes. Measured with 4.1.4, which starts 1, 4 and 8 ranks with 32, 44 and 60, and with 5.0.7, which needs
 * fewer.
 */
public final class OpenFileLimit {

    private static final int FILES = 28;
    private static final int FILES_PER_RANK = 4;
    /** What a rank has open, with its JVM, a class path of some jars, MPI and hvd. */
    private static final int FILES_OF_RANK = 64;

    private static final Pattern ROW = Pattern.compile("(?m)^Max open files\\s+(\\d{1,18})\\s");

    private OpenFileLimit() {}

    /** What mpirun or one of its ranks needs on a host, whichever is more. */
    public static long needed(int ranksOnHost) {
        return Math.max(mpirun(ranksOnHost), ranksOnHost > 0 ? FILES_OF_RANK : 0);
    }

    private static long mpirun(int ranksOnHost) {
        return FILES + (long) FILES_PER_RANK * ranksOnHost;
    }

    /** @throws UsageException if mpirun could not start the ranks of this machine */
    public static void require(Path root, int ranksHere) {
        OptionalLong limit = limit(root);
        long needed = mpirun(ranksHere);
        if (limit.isPresent() && limit.getAsLong() < needed) {
            throw new UsageException(
                    "open-files",
                    "a process here may have " + limit.getAsLong() + " open files, and mpirun needs " + needed
                            + " to start " + ranksHere + " ranks; it would hang or abort. " + advice());
        }
    }

    private static String advice() {
        return "Raise the limit before the start: ulimit -n 65536 in the shell, nofile in /etc/security/limits.conf,"
                + " LimitNOFILE= of a systemd unit, or --ulimit nofile=65536 of a container";
    }

    /** A JVM raises its own to the most that it may have, and so does this process for mpirun. */
    private static OptionalLong limit(Path root) {
        try {
            Matcher row = ROW.matcher(Files.readString(root.resolve("proc/self/limits")));
            return row.find() ? OptionalLong.of(Long.parseLong(row.group(1))) : OptionalLong.empty();
        } catch (IOException e) {
            return OptionalLong.empty();
        }
    }
}
