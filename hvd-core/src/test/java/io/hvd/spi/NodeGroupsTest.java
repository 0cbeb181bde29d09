package io.hvd.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class NodeGroupsTest {
    /** Ranks 0 to 5 on nodes 0, 1 and 2, placed in turn. */
    private static final List<Integer> NODES = List.of(0, 1, 2, 0, 1, 2);

    @Test
    void aRankMeetsItsNodeAndThoseAtItsPlaceElsewhere() {
        List<Integer> all = List.of(0, 1, 2, 3, 4, 5);
        assertThat(NodeGroups.of(4, all, NODES)).isEqualTo(new NodeGroups(List.of(1, 4), List.of(3, 4, 5)));
        assertThat(NodeGroups.obstacle(all, NODES)).isEmpty();
        assertThat(NodeGroups.grid(all, NODES)).containsExactly(List.of(0, 3), List.of(1, 4), List.of(2, 5));
    }

    @Test
    void onlyMembersCount() {
        List<Integer> members = List.of(0, 2, 3, 5);
        assertThat(NodeGroups.of(5, members, NODES)).isEqualTo(new NodeGroups(List.of(2, 5), List.of(3, 5)));
        assertThat(NodeGroups.obstacle(members, NODES)).isEmpty();
    }

    @Test
    void oneNodeUnequalNodesAndLoneRanksAreNoGrid() {
        assertThat(NodeGroups.obstacle(List.of(0, 3), NODES)).contains("all ranks are on one node");
        assertThat(NodeGroups.obstacle(List.of(0, 3, 4), NODES))
                .contains("the nodes have different numbers of ranks: [2, 1]");
        assertThat(NodeGroups.obstacle(List.of(0, 1), NODES)).contains("every node has one rank only");
    }
}
