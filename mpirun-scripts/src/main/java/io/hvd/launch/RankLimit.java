package io.hvd.launch;

import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * Checks that the user can have meant this many ranks. If hosts are named, their slots limit the ranks, and if a resource
 * manager has chosen the hosts, mpirun does; this machine alone takes more ranks than it has cores, but not any number.
 */
final class RankLimit {

    /** A rank is a process with a dozen threads: a machine that has this many of them for each core only swaps. */
    private static final int MOST_PER_CORE = 64;

    private RankLimit() {}

    /** @throws UsageException if there are more ranks than this machine can be meant to hold */
    static void require(Job job) {
        int ranks = job.settings().ranks();
        int cores = job.machine().cores();
        int most = (int) Math.min(Integer.MAX_VALUE, (long) MOST_PER_CORE * cores);
        boolean settled =
                !job.settings().hosts().isEmpty() || job.machine().allocation().isPresent();
        if (settled || ranks <= most || asksForCrowding(job)) {
            return;
        }
        throw new UsageException(
                "np-exceeds-slots",
                "-np " + ranks + " requests " + ranks + " ranks, but this machine has " + cores
                        + " cores and is taken to"
                        + " hold " + most + " ranks; name hosts with slots for them, as in -H a:8,b:8, or -H localhost:"
                        + ranks + " if so many are meant to run here");
    }

    private static boolean asksForCrowding(Job job) {
        LaunchSettings.Words words = job.settings().words();
        return Stream.concat(words.more().stream(), words.binding().stream().flatMap(List::stream))
                .anyMatch(word -> word.toLowerCase(Locale.ROOT).contains("oversubscribe"));
    }
}
