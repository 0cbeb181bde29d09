package io.hvd.monitor;

import io.hvd.monitor.view.ProcessState;
import io.hvd.monitor.view.RankProcess;
import java.util.List;
import java.util.function.Predicate;

/**
 * The other ranks whose processes can be seen from here.
 *
 * @param members all ranks, by rank
 */
record Neighbours(int self, List<RankProcess> members) {

    /** The ranks whose processes run now. */
    public List<Integer> living() {
        return in(state -> !state.isStill());
    }

    /** The ranks whose processes have ended. */
    public List<Integer> dead() {
        return in(state -> state == ProcessState.GONE || state == ProcessState.ZOMBIE);
    }

    private List<Integer> in(Predicate<ProcessState> which) {
        RankProcess own = members.get(self);
        return members.stream()
                .filter(member -> member.rank() != self && member.isVisibleTo(own))
                .filter(member -> which.test(ProcessState.of(member)))
                .map(RankProcess::rank)
                .toList();
    }
}
