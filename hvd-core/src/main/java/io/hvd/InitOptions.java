package io.hvd;

import java.time.Duration;
import java.util.List;
import java.util.Map;

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
 * @param settings values of settings, by the names of their variables, that count instead of those in the environment
 * @param failurePolicy what becomes of this rank's process when the job fails
 */
public record InitOptions(
        List<Integer> ranks,
        List<List<Integer>> processSets,
        boolean dynamicProcessSets,
        int gpusPerRank,
        boolean uncaughtHandler,
        Duration stallTimeout,
        Map<String, String> settings,
        FailurePolicy failurePolicy) {
    public InitOptions {
        if (gpusPerRank < 0) {
            throw new IllegalArgumentException("gpusPerRank is " + gpusPerRank + ", expected 1 or more");
        }
        if (!stallTimeout.isZero() && stallTimeout.compareTo(Duration.ofSeconds(1)) < 0) {
            throw new IllegalArgumentException("stallTimeout is " + stallTimeout + ", expected a second or more");
        }
        ranks = List.copyOf(ranks);
        processSets = processSets.stream().map(List::copyOf).toList();
        settings = Map.copyOf(settings);
    }

    /** Options for a job of all ranks, with no process set but the set of all ranks. */
    public static InitOptions standard() {
        return new InitOptions(
                List.of(), List.of(), false, 0, true, Duration.ZERO, Map.of(), FailurePolicy.END_PROCESS);
    }

    /** These options for a job of some of the launched ranks only. */
    public InitOptions withRanks(List<Integer> some) {
        return new InitOptions(
                some,
                processSets,
                dynamicProcessSets,
                gpusPerRank,
                uncaughtHandler,
                stallTimeout,
                settings,
                failurePolicy);
    }

    /** These options with process sets that are there from the start, each given by its global ranks. */
    public InitOptions withProcessSets(List<List<Integer>> sets) {
        return new InitOptions(
                ranks, sets, dynamicProcessSets, gpusPerRank, uncaughtHandler, stallTimeout, settings, failurePolicy);
    }

    /** These options for a job that may add and remove process sets at any time. */
    public InitOptions withDynamicProcessSets() {
        return new InitOptions(
                ranks, processSets, true, gpusPerRank, uncaughtHandler, stallTimeout, settings, failurePolicy);
    }

    /**
     * Gives each rank several GPUs: local rank n has {@code gpus} visible GPUs, beginning with number n * {@code gpus}.
     */
    public InitOptions withGpusPerRank(int gpus) {
        return new InitOptions(
                ranks, processSets, dynamicProcessSets, gpus, uncaughtHandler, stallTimeout, settings, failurePolicy);
    }

    /**
     * Leaves exceptions that nobody catches to the program, for one that has a default handler of its own, or threads
     * that may end by an exception: a web framework or a notebook. The job then goes on when a thread of a rank has
     * ended by one, and the other ranks wait for that rank until it closes, exits or the stall check ends the job.
     */
    public InitOptions withoutUncaughtHandler() {
        return new InitOptions(
                ranks, processSets, dynamicProcessSets, gpusPerRank, false, stallTimeout, settings, failurePolicy);
    }

    /**
     * Ends the job when a collective has waited for this time, whatever {@code HOROVOD_STALL_SHUTDOWN_TIME_SECONDS} says.
     * The missing ranks are named after half of it, or before that if {@code HOROVOD_STALL_CHECK_TIME_SECONDS} is less.
     *
     * @param time at least a second, of which parts of seconds are rounded up
     */
    public InitOptions withStallTimeout(Duration time) {
        return new InitOptions(
                ranks, processSets, dynamicProcessSets, gpusPerRank, uncaughtHandler, time, settings, failurePolicy);
    }

    /**
     * Gives settings to this job instead of the environment: a value counts in place of the variable of that name, and all
     * other variables are read as ever. Two jobs of one process may have different ones; what a process has once, such as
     * its log and the limit of its buffers, follows the job that has been joined last.
     *
     * <pre>{@code
     * var options = InitOptions.standard().withSettings(Map.of("HOROVOD_FUSION_THRESHOLD", "0"));
     * Hvd.spawn(4, options, hvd -> train(hvd));
     * }</pre>
     *
     * @param values by the names of variables, as docs/reference/settings.md lists them
     */
    public InitOptions withSettings(Map<String, String> values) {
        return new InitOptions(
                ranks,
                processSets,
                dynamicProcessSets,
                gpusPerRank,
                uncaughtHandler,
                stallTimeout,
                values,
                failurePolicy);
    }

    /**
     * Says what becomes of this rank's process when the job fails. Ranks of {@link Hvd#spawn} that are a job of their own
     * always throw.
     */
    public InitOptions withFailurePolicy(FailurePolicy policy) {
        return new InitOptions(
                ranks, processSets, dynamicProcessSets, gpusPerRank, uncaughtHandler, stallTimeout, settings, policy);
    }
}
