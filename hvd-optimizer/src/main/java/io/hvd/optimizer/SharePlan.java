package io.hvd.optimizer;

import java.util.List;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/**
 * Where a generation of ranks takes a state from that was shared out to the ranks of another one.
 *
 * @param number of the dealing that follows
 * @param source the rank that has the whole; -1 if it is made of shares
 * @param holders for each rank of the dealing before the one that it is now, -1 if it is lost; empty if there is a source
 */
record SharePlan(long number, int source, List<Integer> holders) {
    /**
     * What a rank has.
     *
     * @param dealing the number of the one that its share is of; 0 if it has none that counts
     * @param commits steps that it has counted since
     * @param ranks to which the state was dealt
     * @param rank that it was among them
     * @param whole whether it has the whole state of its last commit
     * @param seen the largest number that it knows of
     */
    record Holding(long dealing, long commits, int ranks, int rank, boolean whole, long seen) {
        static final int LENGTH = 6;

        long[] encode() {
            return new long[] {dealing, commits, ranks, rank, whole ? 1 : 0, seen};
        }

        static Holding decode(long[] all, int from) {
            return new Holding(
                    all[from],
                    all[from + 1],
                    Math.toIntExact(all[from + 2]),
                    Math.toIntExact(all[from + 3]),
                    all[from + 4] != 0,
                    all[from + 5]);
        }
    }

    /**
     * Decides by what all ranks have. Where a rank was lost while the state was dealt, some have shares of that dealing, and some of the one
     * before. Who has one of the newest has the whole, since none has counted a step in between.
     *
     * @param root whose parameters all take
     */
    static SharePlan of(List<Holding> ranks, int root) {
        long number = ranks.stream().mapToLong(Holding::seen).max().orElse(0) + 1;
        if (ranks.get(root).dealing == 0) {
            return new SharePlan(number, root, List.of());
        }
        Holding newest = ranks.stream().reduce((a, b) -> isNewer(b, a) ? b : a).orElseThrow();
        OptionalInt source = IntStream.concat(IntStream.of(root), IntStream.range(0, ranks.size()))
                .filter(rank -> ranks.get(rank).whole
                        && ranks.get(rank).dealing == newest.dealing
                        && ranks.get(rank).commits == newest.commits)
                .findFirst();
        return source.isPresent()
                ? new SharePlan(number, source.getAsInt(), List.of())
                : new SharePlan(number, -1, holders(ranks, newest));
    }

    private static boolean isNewer(Holding one, Holding other) {
        return one.dealing > other.dealing || one.dealing == other.dealing && one.commits > other.commits;
    }

    private static List<Integer> holders(List<Holding> ranks, Holding newest) {
        return IntStream.range(0, newest.ranks)
                .map(before -> IntStream.range(0, ranks.size())
                        .filter(rank -> ranks.get(rank).dealing == newest.dealing && ranks.get(rank).rank == before)
                        .findFirst()
                        .orElse(-1))
                .boxed()
                .toList();
    }
}
