package io.hvd.launch.line;

import io.hvd.launch.words.UsageException;

/**
 * Checks that the user can have meant this many ranks. If hosts are named, their slots limit the ranks, and if a resource
 * manager has chosen the hosts, mpirun does; this machine alone takes more ranks than it has cores, but not any number.
 */
public final class RankLimit {

    /** A rank is a process with a dozen threads: a machine that has this many of them for each core only swaps. */
    private static final int MOST_PER_CORE = 64;

    private RankLimit() {}

    /** @throws UsageException if there are more ranks than this machine can be meant to hold */
    public static void require(LaunchFacts job) {
        int ranks = job.settings().ranks();
        int cores = job.machine().cores();
        int most = (int) Math.min(Integer.MAX_VALUE, (long) MOST_PER_CORE * cores);
        boolean settled = !job.settings().hosts().isEmpty() || job.hostSource().isPresent();
        if (settled || ranks <= most || job.allowsCrowding()) {
            return;
        }
        throw new UsageException(
                "np-exceeds-slots",
                "-np " + ranks + " requests " + ranks + " ranks, but this machine has " + cores
                        + " cores and is taken to"
                        + " hold " + most + " ranks; name hosts with slots for them, as in -H a:8,b:8, or -H localhost:"
                        + ranks + " if so many are meant to run here");
    }
}
