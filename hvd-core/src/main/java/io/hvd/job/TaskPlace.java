package io.hvd.job;

import io.hvd.transport.tcp.TaskMeeting;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The place of a rank that is a task of a cluster.
 *
 * @param secret known to the ranks of this job alone
 * @param exchange gives every rank the words of all, by rank; each calls it once
 * @param gpus the numbers of this rank's GPUs; empty if it takes them by its local rank
 * @param cancelled why the scheduler no longer wants this rank; empty while it does
 */
public record TaskPlace(
        int rank,
        int size,
        byte[] secret,
        TaskMeeting.Exchange exchange,
        List<Integer> gpus,
        Supplier<Optional<String>> cancelled) {
    /** @throws IllegalArgumentException if there is no such rank, or nothing keeps other processes out */
    public TaskPlace {
        if (rank < 0 || rank >= size) {
            throw new IllegalArgumentException(
                    "task of rank " + rank + " of " + size + ", expected 0 to " + (size - 1));
        }
        if (size > 1 && secret.length == 0) {
            throw new IllegalArgumentException("task of rank " + rank + " of " + size + " with an empty secret");
        }
        gpus = List.copyOf(gpus);
    }
}
