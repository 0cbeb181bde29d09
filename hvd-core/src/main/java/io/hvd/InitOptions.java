package io.hvd;

import java.util.List;

/**
 * How to join a job; every rank says the same.
 *
 * @param ranks world ranks that take part, in their new order; empty means all
 * @param processSets global ranks of process sets that are there from the start, numbered from 1; see
 *     {@link HvdContext#processSet(int)}
 * @param dynamicProcessSets whether {@link HvdContext#addProcessSet} is to be allowed, as
 *     {@code HOROVOD_DYNAMIC_PROCESS_SETS=1} allows it too
 * @param gpusPerRank GPUs of each rank, or 0 for as many as {@code HVD_GPUS_PER_RANK} says
 */
public record InitOptions(
        List<Integer> ranks, List<List<Integer>> processSets, boolean dynamicProcessSets, int gpusPerRank) {
    public InitOptions {
        if (gpusPerRank < 0) {
            throw new IllegalArgumentException("gpusPerRank is " + gpusPerRank + ", expected 1 or more");
        }
        ranks = List.copyOf(ranks);
        processSets = processSets.stream().map(List::copyOf).toList();
    }

    /** All ranks, and no process set but the one of all ranks. */
    public static InitOptions standard() {
        return new InitOptions(List.of(), List.of(), false, 0);
    }

    public InitOptions withRanks(List<Integer> some) {
        return new InitOptions(some, processSets, dynamicProcessSets, gpusPerRank);
    }

    public InitOptions withProcessSets(List<List<Integer>> sets) {
        return new InitOptions(ranks, sets, dynamicProcessSets, gpusPerRank);
    }

    public InitOptions withDynamicProcessSets() {
        return new InitOptions(ranks, processSets, true, gpusPerRank);
    }

    /** For a model that is spread over several GPUs: local rank n has the visible GPUs from n * {@code gpus} on. */
    public InitOptions withGpusPerRank(int gpus) {
        return new InitOptions(ranks, processSets, dynamicProcessSets, gpus);
    }
}
