package io.hvd;

import java.util.List;
import java.util.Optional;

/**
 * A rank that the scheduler of a cluster, such as Spark's, has started as a task: what the scheduler knows of it, and its one
 * way to the other ranks before anything else connects them. {@link Hvd#runTask} joins as this rank.
 */
public interface ClusterTask {
    /** The number of this rank, from 0 to {@link #size()} - 1. */
    int rank();

    /** The number of ranks of the job. */
    int size();

    /** What only the ranks of this job know, and only those of this attempt: random bytes that the job's owner has sent to each. */
    byte[] secret();

    /**
     * Gives every rank the words of all ranks, by rank. Each rank calls it once, on the thread that joins; it ends by an
     * exception where another rank does not come.
     */
    List<String> exchange(String mine) throws Exception;

    /** The numbers of the GPUs that the scheduler has given to this rank; empty if hvd is to choose by local rank. */
    default List<Integer> gpus() {
        return List.of();
    }

    /**
     * Why the scheduler no longer wants this rank; empty while it does. A thread of hvd's asks several times a second, and ends
     * what the rank waits for.
     */
    default Optional<String> cancelled() {
        return Optional.empty();
    }
}
