package io.hvd.launch.words;

import java.util.List;
import java.util.stream.Stream;

/**
 * The words before a command under Hydra, which neither says which rank has failed first nor ends a job for a rank that fails
 * before it has called MPI. A small shell stays beside each rank, and says on standard error how it has ended before Hydra
 * learns of it. Hydra sends signals to the whole group of the shell, which takes no notice of those that ask.
 */
public final class HydraRank {

    /** What the shell says; three numbers or names follow. */
    public static final String SAYS = "hvd: the process of rank ";

    private static final String SCRIPT = "trap : TERM INT HUP USR1 USR2; \"$@\"; code=$?; [ $code = 0 ] || echo \""
            + SAYS + "${PMI_RANK:-?} on $(uname -n) has ended with code $code\" >&2; exit $code";

    private HydraRank() {}

    /** The command with the shell before it. */
    public static List<String> around(List<String> command) {
        return Stream.concat(Stream.of("sh", "-c", SCRIPT, "horovodrun-rank"), command.stream())
                .toList();
    }
}
