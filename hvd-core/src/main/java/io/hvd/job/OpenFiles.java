package io.hvd.job;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Whether this process may open the files that hvd and MPI need: without them Open MPI ends the process natively. Data
 * connections over TCP are made for those ranks that have something for each other, and are not counted.
 */
final class OpenFiles {
    /**
     * What a rank opens between its start and the end of init: 33 were seen with Open MPI 4.1.4 and two ranks on a host.
     * Fewer may do where shared memory is off.
     */
    private static final int OF_RANK = 28;

    /** Rank 0 has two connections to every other rank. */
    private static final int PER_PEER = 2;

    private static final Pattern ROW = Pattern.compile("(?m)^Max open files\\s+(\\d{1,18})\\s");

    private OpenFiles() {}

    /**
     * Called before MPI starts.
     *
     * @throws HvdException if this rank of several cannot be opened
     */
    static void require(HvdConfig config, Path proc) {
        if (!config.started().withOthers()) {
            return;
        }
        int peers =
                config.started().rank().orElse(1) == 0 ? config.started().size().orElse(1) - 1 : 1;
        long needed = OF_RANK + (long) PER_PEER * peers;
        long open = open(proc);
        long limit = limit(proc);
        if (open >= 0 && limit >= 0 && limit - open < needed) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "this process may have " + limit + " open files and has " + open
                            + " already, but hvd and what is below it need "
                            + needed + " more, expected a limit of at least " + (open + needed)
                            + ": raise it before the job starts, by ulimit -n 65536 in the shell of every host, nofile"
                            + " in /etc/security/limits.conf, LimitNOFILE= of a systemd unit, or --ulimit nofile=65536"
                            + " of a container");
        }
    }

    /** -1 where nobody tells. */
    private static long open(Path proc) {
        String[] files = proc.resolve("self/fd").toFile().list();
        return files == null ? -1 : files.length - 1; // the folder itself was open while it was read
    }

    private static long limit(Path proc) {
        try {
            Matcher row = ROW.matcher(Files.readString(proc.resolve("self/limits")));
            return row.find() ? Long.parseLong(row.group(1)) : -1;
        } catch (IOException e) {
            return -1;
        }
    }
}
