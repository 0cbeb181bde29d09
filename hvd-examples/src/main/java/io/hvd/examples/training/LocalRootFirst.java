package io.hvd.examples.training;

import io.hvd.HvdContext;
import org.apache.commons.cli.ParseException;

/**
 * A piece of work that one rank of each host does while the others wait, such as writing files that all ranks of the host then read. If it fails anywhere, it has failed on all ranks.
 */
public final class LocalRootFirst {
    private LocalRootFirst() {}

    /**
     * Does the work on the ranks whose local rank is 0. Every rank calls it, and returns when the work is done on all hosts.
     *
     * @param what words for the work's subject, with which messages begin
     * @throws ParseException on every rank, with the same words, if the work has failed on one
     */
    public static void run(HvdContext hvd, String what, RankMistakes.Work work) throws ParseException {
        RankMistakes.requireNone(hvd, hvd.localRank() == 0 ? RankMistakes.of(hvd, what, work) : "");
    }
}
