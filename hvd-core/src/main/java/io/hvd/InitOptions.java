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
 */
public record InitOptions(List<Integer> ranks, List<List<Integer>> processSets, boolean dynamicProcessSets) {
    public InitOptions {
        ranks = List.copyOf(ranks);
        processSets = processSets.stream().map(List::copyOf).toList();
    }

    /** All ranks, and no process set but the one of all ranks. */
    public static InitOptions standard() {
        return new InitOptions(List.of(), List.of(), false);
    }

    public InitOptions withRanks(List<Integer> some) {
        return new InitOptions(some, processSets, dynamicProcessSets);
    }

    public InitOptions withProcessSets(List<List<Integer>> sets) {
        return new InitOptions(ranks, sets, dynamicProcessSets);
    }

    public InitOptions withDynamicProcessSets() {
        return new InitOptions(ranks, processSets, true);
    }
}
