package io.hvd.examples.training;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.Phase;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.apache.commons.cli.ParseException;

/** Ends the program on all ranks, with the same words, after a mistake of one rank such as a file that its host lacks. */
public final class RankMistakes {
    /** Such work may take as long as a download does. */
    private static final Duration LONGEST_WORK = Duration.ofHours(24);

    private RankMistakes() {}

    /** A rank's work. */
    @FunctionalInterface
    public interface Work {
        void run() throws IOException;
    }

    /**
     * Does the work, and returns what has gone wrong in words, or nothing.
     *
     * @param what words for the work's subject, with which the mistake begins
     */
    static String of(HvdContext hvd, String what, Work work) {
        try (Phase phase = hvd.phase(what, LONGEST_WORK)) {
            work.run();
            return "";
        } catch (IOException e) {
            boolean inWords = e.getClass() == IOException.class;
            return what + ": " + (inWords ? e.getMessage() : e.toString());
        }
    }

    /** Does the work on every rank. @throws ParseException on every rank, with the same words, if it has failed on one */
    public static void requireNone(HvdContext hvd, String what, Work work) throws ParseException {
        requireNone(hvd, of(hvd, what, work));
    }

    /**
     * Compares what has gone wrong on the ranks; every rank calls it.
     *
     * @param mistake in words, empty if there is none on this rank
     * @throws ParseException on every rank, with the mistake of the lowest rank that has made one
     */
    public static void requireNone(HvdContext hvd, String mistake) throws ParseException {
        List<String> mistakes = hvd.allgatherObject("mistakes", mistake, ObjectCodec.utf8());
        for (int rank = 0; rank < mistakes.size(); rank++) {
            if (!mistakes.get(rank).isEmpty()) {
                throw new ParseException(mistakes.get(rank) + ", on rank " + rank + " ("
                        + hvd.hosts().get(rank) + ")" + others(mistakes, rank));
            }
        }
    }

    private static String others(List<String> mistakes, int rank) {
        long more = mistakes.stream()
                .skip(rank + 1L)
                .filter(mistake -> !mistake.isEmpty())
                .count();
        return more == 0 ? "" : " and on " + more + " more of " + mistakes.size() + " ranks";
    }
}
