package io.hvd.examples;

import io.hvd.HvdContext;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The flag by which launchers of other systems tell a process its local rank, in both spellings. hvd knows the local
 * rank, so a value is only compared with it.
 */
final class LocalRankFlag {
    private static final String[] SPELLINGS = {"local-rank", "local_rank"};
    /** The value that scripts pass if they do not know the local rank. */
    private static final int UNKNOWN = -1;

    private LocalRankFlag() {}

    static void addTo(Options flags) {
        for (String spelling : SPELLINGS) {
            flags.addOption(Flags.valued(spelling, "compared with the local rank that hvd knows, and not needed"));
        }
    }

    /** A message about a wrong value on this rank; empty if the value is right, or not given. */
    static Optional<String> difference(CommandLine line, HvdContext hvd) throws ParseException {
        for (String spelling : SPELLINGS) {
            if (line.hasOption(spelling)) {
                int said = Flags.count(line, spelling, UNKNOWN, UNKNOWN);
                if (said != UNKNOWN && said != hvd.localRank()) {
                    return Optional.of("rank " + hvd.rank() + ": --" + spelling + " says " + said
                            + ", but this is local rank " + hvd.localRank()
                            + " on its host, and hvd uses that; mpirun gives"
                            + " all ranks the same arguments, so leave the flag out");
                }
            }
        }
        return Optional.empty();
    }
}
