package io.hvd.contract.program;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Actions of all ranks that come in this order on each of them, among others of the same step. */
final class Sequence {
    private final List<List<Action>> byRank = new ArrayList<>();
    /** Process sets on which it does something. */
    private final Set<Integer> touched = new TreeSet<>();
    /** Process sets on which nothing else may happen meanwhile. */
    private final Set<Integer> alone = new TreeSet<>();
    /** Process sets whose operations without names it counts. */
    private final Set<Integer> counted = new TreeSet<>();

    Sequence(int ranks) {
        for (int rank = 0; rank < ranks; rank++) {
            byRank.add(new ArrayList<>());
        }
    }

    Sequence add(int rank, Action... actions) {
        byRank.get(rank).addAll(List.of(actions));
        return this;
    }

    Sequence addAll(int rank, Collection<Action> actions) {
        byRank.get(rank).addAll(actions);
        return this;
    }

    Sequence touching(int set) {
        touched.add(set);
        return this;
    }

    Sequence aloneOn(int set) {
        alone.add(set);
        counted.add(set);
        return touching(set);
    }

    Sequence counting(int set) {
        counted.add(set);
        return touching(set);
    }

    List<Action> of(int rank) {
        return byRank.get(rank);
    }

    /** Whether both may be in one step. */
    boolean goesWith(Sequence other) {
        return !meets(alone, other.touched) && !meets(other.alone, touched) && !meets(counted, other.counted);
    }

    private static boolean meets(Set<Integer> some, Set<Integer> others) {
        return some.stream().anyMatch(others::contains);
    }
}
