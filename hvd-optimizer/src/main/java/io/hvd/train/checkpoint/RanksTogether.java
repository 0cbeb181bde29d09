package io.hvd.train.checkpoint;

import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.util.List;

/** Has all ranks do something that may fail on some of them, and tells each how it went on the others. All are collectives. */
record RanksTogether(ProcessSet ranks) {
    /** In front of what a rank that has not failed says. */
    private static final String ANSWER = "=";

    /** What may fail. */
    interface Attempt {
        void run() throws IOException;
    }

    /** What may fail, or gives something for the other ranks. */
    interface Question {
        String answer() throws IOException;
    }

    /** @return empty if no rank fails; else the first one that does, and why */
    String firstFailure(String name, Attempt attempt) {
        String mine = "";
        try {
            attempt.run();
        } catch (HvdException e) {
            mine = e.words();
        } catch (IOException e) {
            mine = String.valueOf(e.getMessage());
        } catch (RuntimeException e) {
            mine = e.toString();
        }
        List<String> all = ranks.allgatherObject(name, mine, ObjectCodec.utf8());
        for (int rank = 0; rank < all.size(); rank++) {
            if (!all.get(rank).isEmpty()) {
                return "rank " + rank + ": " + all.get(rank);
            }
        }
        return "";
    }

    /**
     * Gives the answers of all ranks.
     *
     * @param onFailure is run on all ranks before the error is thrown
     * @throws HvdException on all ranks, the first one's that has failed
     */
    List<String> ask(String name, Question question, Runnable onFailure) {
        String mine;
        Throwable cause = null;
        try {
            mine = ANSWER + question.answer();
        } catch (HvdException e) {
            mine = e.id().name() + " " + e.words();
        } catch (IOException e) {
            mine = ErrorId.CHECKPOINT_NOT_WRITTEN.name() + " " + e.getMessage();
            cause = e;
        } catch (RuntimeException e) {
            mine = ErrorId.CHECKPOINT_NOT_WRITTEN.name() + " " + e;
            cause = e;
        }
        List<String> all = ranks.allgatherObject(name, mine, ObjectCodec.utf8());
        for (int rank = 0; rank < all.size(); rank++) {
            if (!all.get(rank).startsWith(ANSWER)) {
                onFailure.run();
                String[] failure = all.get(rank).split(" ", 2);
                throw new HvdException(
                        ErrorId.valueOf(failure[0]),
                        rank == ranks.rank() ? failure[1] : failure[1] + " (on rank " + rank + ")",
                        rank == ranks.rank() ? cause : null);
            }
        }
        return all.stream().map(word -> word.substring(ANSWER.length())).toList();
    }
}
