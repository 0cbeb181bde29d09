package io.hvd.optimizer.djl;

import ai.djl.TrainingDivergedException;
import ai.djl.training.listener.EarlyStoppingListener.EarlyStoppedException;
import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import java.util.List;

/** The exceptions of the listeners of one rank, in words that travel: a letter for the kind, the epoch, then the message. */
final class ListenerFailures {
    private static final String NOTHING = "";
    private static final char STOPPED = 's';
    private static final char DIVERGED = 'd';
    private static final char FAILED = 'f';

    private ListenerFailures() {}

    /**
     * A collective: throws on all ranks if listeners have thrown on any; what this rank has thrown itself, or the same of
     * the first rank that has.
     *
     * @param mine null if the listeners of this rank have thrown nothing
     */
    static void throwTogether(HvdContext hvd, RuntimeException mine) {
        List<String> all = hvd.allgatherObject("djl.listeners", encode(mine), ObjectCodec.utf8());
        if (mine != null) {
            throw mine;
        }
        for (int rank = 0; rank < all.size(); rank++) {
            if (!all.get(rank).equals(NOTHING)) {
                throw decode(rank, all.get(rank));
            }
        }
    }

    private static String encode(RuntimeException thrown) {
        if (thrown == null) {
            return NOTHING;
        }
        if (thrown instanceof EarlyStoppedException stopped) {
            return STOPPED + "" + stopped.getStopEpoch() + " " + stopped.getMessage();
        }
        char kind = thrown instanceof TrainingDivergedException ? DIVERGED : FAILED;
        return kind + "0 " + (kind == DIVERGED ? thrown.getMessage() : thrown.toString());
    }

    private static RuntimeException decode(int rank, String words) {
        int space = words.indexOf(' ');
        String message = "rank " + rank + ": " + words.substring(space + 1);
        return switch (words.charAt(0)) {
            case STOPPED -> new EarlyStoppedException(Integer.parseInt(words.substring(1, space)), message);
            case DIVERGED -> new TrainingDivergedException(message);
            default -> new ListenerException("a training listener has failed on " + message);
        };
    }
}
