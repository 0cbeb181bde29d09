package io.hvd.train.log;

import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.util.function.Supplier;

/** Work with files that the first rank of a set does alone. If it fails, all ranks fail, so that none waits for one that is gone. */
record FirstRank(ProcessSet ranks) {
    static FirstRank of(ProcessSet ranks) {
        return new FirstRank(ranks);
    }

    /** Work with files. */
    interface Work<T> {
        T run() throws IOException;
    }

    /**
     * Does the work on the first rank and the other thing on the others.
     *
     * @throws HvdException on all ranks, if the first one could not do it
     */
    <T> T together(String what, Work<T> work, Supplier<T> onOthers) {
        T made = null;
        String obstacle = "";
        if (ranks.rank() == 0) {
            try {
                made = work.run();
            } catch (IOException | RuntimeException e) {
                obstacle = e.getClass() == IOException.class ? e.getMessage() : e.toString();
            }
        }
        String told = ranks.broadcastObject(
                "run.files", obstacle, ObjectCodec.utf8(), ranks.ranks().get(0));
        if (!told.isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "rank " + ranks.ranks().get(0) + " cannot " + what + ": " + told);
        }
        return ranks.rank() == 0 ? made : onOthers.get();
    }
}
