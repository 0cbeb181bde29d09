package io.hvd.optimizer;

import io.hvd.ProcessSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** One rank's share, as it was dealt to it together with those of other ranks. */
final class Dealing {
    private final long number;
    private final int ranks;
    private final int rank;
    private final int[] owners;
    /** The names of the parameters of this rank's share. */
    private final Set<String> own;

    private final ShardedShare share;
    /** The steps that an elastic job has counted since. */
    private long commits;

    private Dealing(long number, int ranks, int rank, int[] owners, Set<String> own, ShardedShare share) {
        this.number = number;
        this.ranks = ranks;
        this.rank = rank;
        this.owners = owners;
        this.own = own;
        this.share = share;
    }

    /** @param number 0 before an elastic job has dealt the state, and larger with each time that it does */
    static Dealing to(ProcessSet set, ShardedState state, long number) {
        int ranks = set.included() ? set.size() : 1;
        int rank = set.included() ? set.rank() : 0;
        int[] owners = state.owners(ranks);
        Set<String> own = IntStream.range(0, owners.length)
                .filter(i -> owners[i] == rank)
                .mapToObj(i -> state.parameters().get(i).name())
                .collect(Collectors.toSet());
        return new Dealing(number, ranks, rank, owners, own, state.deal(owners, rank));
    }

    /** One that holds for a process set; this one, if it has no number yet and is dealt to such ranks. */
    Dealing next(ProcessSet set, ShardedState state, long following) {
        boolean same = set.included() && set.size() == ranks && set.rank() == rank;
        return number == 0 && same
                ? new Dealing(following, ranks, rank, owners, own, share)
                : to(set, state, following);
    }

    long number() {
        return number;
    }

    int ranks() {
        return ranks;
    }

    int rank() {
        return rank;
    }

    int[] owners() {
        return owners;
    }

    boolean owns(String parameter) {
        return own.contains(parameter);
    }

    /** Whether a state has more than this rank's share, or there is no more. */
    boolean hasOthers(NamedState given) {
        return ranks == 1
                || given.tensors().keySet().stream().map(NamedState::parameter).anyMatch(parameter -> !owns(parameter));
    }

    /** The whole, with this rank's learning rate. @param shares by rank */
    NamedState join(List<NamedState> shares) {
        List<NamedState> parts = new ArrayList<>(shares);
        parts.add(0, parts.remove(rank));
        return share.join(parts);
    }

    ShardedShare share() {
        return share;
    }

    void committed() {
        commits++;
    }

    long commits() {
        return commits;
    }
}
