package io.hvd.spi;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.List;

/** Some ranks of a launcher's job that make a job of their own. */
public final class Subset {
    private Subset() {}

    /**
     * Refuses ranks that the launcher's job does not have, and a caller that is not among them.
     *
     * @param ranks in their new order
     * @param self the caller's rank in the launcher's job
     * @param size number of ranks of that job
     */
    public static void require(List<Integer> ranks, int self, int size) {
        for (int rank : ranks) {
            if (rank < 0 || rank >= size) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "init for ranks " + ranks + ": rank " + rank + " is not in [0, " + (size - 1) + "]");
            }
        }
        if (!ranks.contains(self)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "init for ranks " + ranks + " was called on rank " + self + ", which is not among them");
        }
    }
}
