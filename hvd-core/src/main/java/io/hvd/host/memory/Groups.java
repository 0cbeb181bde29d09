package io.hvd.host.memory;

import java.util.List;

/**
 * The ranks of a process set, in groups that have a memory each. Ranks are numbered within the set.
 *
 * @param members numbers of the ranks of each group, by place
 * @param own the number of this rank's group
 * @param allCarry whether every rank exchanges its part of the group's data with the ranks at its place in the other
 *     groups, so that all groups have the same number of ranks; otherwise the first rank of each group, its leader,
 *     carries all of it
 */
public record Groups(List<List<Integer>> members, int own, boolean allCarry) {
    int count() {
        return members.size();
    }

    /** Number of ranks of a group. */
    int places(int group) {
        return members.get(group).size();
    }

    /** The number of the rank at a place of a group. */
    int member(int place, int group) {
        return members.get(group).get(place);
    }

    /** The group of a rank. */
    int groupOf(int member) {
        int found = 0;
        while (!members.get(found).contains(member)) {
            found++;
        }
        return found;
    }

    /** Number of ranks of all groups. */
    int ranks() {
        return members.stream().mapToInt(List::size).sum();
    }
}
