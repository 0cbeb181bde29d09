package io.hvd.optimizer;

import io.hvd.ProcessSet;

/** One rank's share, as it was dealt to it together with those of other ranks. */
final class Dealing {
    private final long number;
    private final int ranks;
    private final int rank;
    private final int[] owners;
    private final ShardedShare share;
    /** The steps that an elastic job has counted since. */
    private long commits;

    private Dealing(long number, int ranks, int rank, int[] owners, ShardedShare share) {
        this.number = number;
        this.ranks = ranks;
        this.rank = rank;
        this.owners = owners;
        this.share = share;
    }

    /** @param number 0 before an elastic job has dealt the state, and larger with each time that it does */
    static Dealing to(ProcessSet set, ShardedState state, long number) {
        int ranks = set.included() ? set.size() : 1;
        int rank = set.included() ? set.rank() : 0;
        int[] owners = state.owners(ranks);
        return new Dealing(number, ranks, rank, owners, state.deal(owners, rank));
    }

    /** One that holds for a process set; this one, if it has no number yet and is dealt to such ranks. */
    Dealing next(ProcessSet set, ShardedState state, long following) {
        boolean same = set.included() && set.size() == ranks && set.rank() == rank;
        return number == 0 && same ? new Dealing(following, ranks, rank, owners, share) : to(set, state, following);
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
