package io.hvd.spi;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The place of this rank among all ranks, among those of its node, and among those with the same place on other nodes.
 *
 * @param rank 0 to {@code size - 1}
 * @param localRank place among the ranks of this node
 * @param crossRank place among the ranks with this local rank, of which each node has at most one, in their order; the
 *     same as in a communicator split by local rank
 * @param crossSize number of ranks with this local rank
 * @param homogeneous whether all nodes have the same number of ranks
 * @param hosts host name of every rank, by rank
 * @param nodes number of the node of every rank, by rank; nodes are numbered in the order of their first ranks
 */
public record Topology(
        int rank,
        int size,
        int localRank,
        int localSize,
        int crossRank,
        int crossSize,
        boolean homogeneous,
        List<String> hosts,
        List<Integer> nodes) {

    public Topology {
        hosts = List.copyOf(hosts);
        nodes = List.copyOf(nodes);
    }

    /**
     * Finds the place of every rank.
     *
     * @param rank the rank whose view is made
     * @param nodes an identity of the node of every rank, equal for ranks that share memory
     * @param hosts host name of every rank, for messages
     */
    public static Topology of(int rank, List<String> nodes, List<String> hosts) {
        Map<String, List<Integer>> ranksOfNode = new LinkedHashMap<>();
        for (int i = 0; i < nodes.size(); i++) {
            ranksOfNode.computeIfAbsent(nodes.get(i), node -> new ArrayList<>()).add(i);
        }
        List<Integer> local = ranksOfNode.get(nodes.get(rank));
        int localRank = local.indexOf(rank);
        int crossRank = 0;
        int crossSize = 0;
        for (List<Integer> members : ranksOfNode.values()) {
            if (members.size() > localRank) {
                crossSize++;
                crossRank += members.get(localRank) < rank ? 1 : 0;
            }
        }
        boolean homogeneous =
                ranksOfNode.values().stream().map(List::size).distinct().count() == 1;
        List<String> order = List.copyOf(ranksOfNode.keySet());
        List<Integer> numbers = nodes.stream().map(order::indexOf).toList();
        return new Topology(
                rank, nodes.size(), localRank, local.size(), crossRank, crossSize, homogeneous, hosts, numbers);
    }

    public String host() {
        return hosts.get(rank);
    }
}
