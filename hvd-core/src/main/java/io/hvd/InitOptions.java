package io.hvd;

import java.time.Duration;
import java.util.List;

/**
 * Options for joining a job. Every rank must pass the same options.
 *
 * @param ranks world ranks that take part, in their new order; an empty list means all ranks
 * @param processSets global ranks of each process set that exists from the start; the sets are numbered from 1, see
 *     {@link HvdContext#processSet(int)}
 * @param dynamicProcessSets whether {@link HvdContext#addProcessSet} is allowed; {@code HOROVOD_DYNAMIC_PROCESS_SETS=1}
 *     allows it too
 * @param gpusPerRank number of GPUs of each rank, or 0 for the number that {@code HVD_GPUS_PER_RANK} says
 * @param uncaughtHandler whether hvd sets a default handler for uncaught exceptions, which ends the job of several
 *     ranks when a thread ends by one; {@code HVD_UNCAUGHT_HANDLER=0} keeps it out too
 * @param stallTimeout time for which a collective may wait for ranks, in whole seconds, before the job ends; zero for what
 *     {@code HOROVOD_STALL_SHUTDOWN_TIME_SECONDS} says
 */
public record InitOptions(
        List<Integer> ranks,
        List<List<Integer>> processSets,
        boolean dynamicProcessSets,
        int gpusPerRank,
        boolean uncaughtHandler,
        Duration stallTimeout) {
    public InitOptions {
        if (gpusPerRank < 0) {
            throw new IllegalArgumentException("gpusPerRank is " + gpusPerRank + ", expected 1 or more");
        }
        if (!stallTimeout.isZero() && stallTimeout.compareTo(Duration.ofSeconds(1)) < 0) {
            throw new IllegalArgumentException("stallTimeout is " + stallTimeout + ", expected a second or more");
        }
        ranks = List.copyOf(ranks);
        processSets = processSets.stream().map(List::copyOf).toList();
    }

    /** Options for a job of all ranks, with no process set but the set of all ranks. */
    public static InitOptions standard() {
        return new InitOptions(List.of(), List.of(), false, 0, true, Duration.ZERO);
    }

    /** These options for a job of some of the launched ranks only. */
    public InitOptions withRanks(List<Integer> some) {
        return new InitOptions(some, processSets, dynamicProcessSets, gpusPerRank, uncaughtHandler, stallTimeout);
    }

    /** These options with process sets that are there from the start, each given by its global ranks. */
    public InitOptions withProcessSets(List<List<Integer>> sets) {
        return new InitOptions(ranks, sets, dynamicProcessSets, gpusPerRank, uncaughtHandler, stallTimeout);
    }

    /** These options for a job that may add and remove process sets at any time. */
    public InitOptions withDynamicProcessSets() {
        return new InitOptions(ranks, processSets, true, gpusPerRank, uncaughtHandler, stallTimeout);
    }

    /**
     * Gives each rank several GPUs: local rank n has {@code gpus} visible GPUs, beginning with number n * {@code gpus}.
     */
    public InitOptions withGpusPerRank(int gpus) {
        return new InitOptions(ranks, processSets, dynamicProcessSets, gpus, uncaughtHandler, stallTimeout);
    }

    /**
     * Leaves exceptions that nobody catches to the program, for one that has a default handler of its own, or threads
     * that may end by an exception: a web framework or a notebook. The job then goes on when a thread of a rank has
     * ended by one, and the other ranks wait for that rank until it closes, exits or the stall check ends the job.
     */
    public InitOptions withoutUncaughtHandler() {
        return new InitOptions(ranks, processSets, dynamicProcessSets, gpusPerRank, false, stallTimeout);
    }

    /**
     * Ends the job when a collective has waited for this time, whatever {@code HOROVOD_STALL_SHUTDOWN_TIME_SECONDS} says.
     * The missing ranks are named after half of it, or before that if {@code HOROVOD_STALL_CHECK_TIME_SECONDS} is less.
     *
     * @param time at least a second, of which parts of seconds are rounded up
     */
    public InitOptions withStallTimeout(Duration time) {
        return new InitOptions(ranks, processSets, dynamicProcessSets, gpusPerRank, uncaughtHandler, time);
    }
}
