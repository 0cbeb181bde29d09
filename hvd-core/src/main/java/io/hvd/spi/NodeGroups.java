package io.hvd.spi;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The ranks of a process set as a grid: a row for each node, and every rank in the column of its place
 * within its node.
 *
 * @param inside the ranks of this rank's node, ascending
 * @param across the ranks at this rank's place on each node, by node
 */
public record NodeGroups(List<Integer> inside, List<Integer> across) {
    /**
     * @param rank the rank whose groups are made
     * @param members ranks of the process set, ascending
     * @param nodes number of the node of every rank of the job
     */
    public static NodeGroups of(int rank, List<Integer> members, List<Integer> nodes) {
        Map<Integer, List<Integer>> rows = rows(members, nodes);
        List<Integer> inside = rows.get(nodes.get(rank));
        int place = inside.indexOf(rank);
        List<Integer> across = rows.values().stream()
                .filter(row -> row.size() > place)
                .map(row -> row.get(place))
                .toList();
        return new NodeGroups(List.copyOf(inside), across);
    }

    /** Why the members form no grid that is worth using; empty if they do. The answer is the same on every rank. */
    public static Optional<String> obstacle(List<Integer> members, List<Integer> nodes) {
        List<Integer> sizes =
                rows(members, nodes).values().stream().map(List::size).toList();
        if (sizes.size() == 1) {
            return Optional.of("all ranks are on one node");
        }
        if (sizes.stream().distinct().count() > 1) {
            return Optional.of("the nodes have different numbers of ranks: " + sizes);
        }
        return sizes.get(0) == 1 ? Optional.of("every node has one rank only") : Optional.empty();
    }

    /** The ranks of each node, ascending; nodes are in the order of their numbers. */
    public static List<List<Integer>> grid(List<Integer> members, List<Integer> nodes) {
        return rows(members, nodes).values().stream().map(List::copyOf).toList();
    }

    private static Map<Integer, List<Integer>> rows(List<Integer> members, List<Integer> nodes) {
        Map<Integer, List<Integer>> rows = new TreeMap<>();
        for (int member : members) {
            rows.computeIfAbsent(nodes.get(member), node -> new ArrayList<>()).add(member);
        }
        return rows;
    }
}
