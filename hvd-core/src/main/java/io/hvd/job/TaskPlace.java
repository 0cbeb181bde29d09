package io.hvd.job;

import java.util.List;

/**
 * The place of a rank that is a task of a cluster.
 *
 * @param gpus the numbers of this rank's GPUs; empty if it takes them by its local rank
 */
public record TaskPlace(int rank, int size, List<Integer> gpus) {
    /** @throws IllegalArgumentException if there is no such rank */
    public TaskPlace {
        if (rank < 0 || rank >= size) {
            throw new IllegalArgumentException(
                    "task of rank " + rank + " of " + size + ", expected 0 to " + (size - 1));
        }
        gpus = List.copyOf(gpus);
    }
}
