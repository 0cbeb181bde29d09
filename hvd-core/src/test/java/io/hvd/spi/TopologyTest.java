package io.hvd.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TopologyTest {
    private static List<Integer> all(ToIntFunction<Topology> what, String... nodes) {
        return IntStream.range(0, nodes.length)
                .map(rank -> what.applyAsInt(Topology.of(rank, List.of(nodes), List.of(nodes))))
                .boxed()
                .toList();
    }

    @Test
    void nodesOfTwoAndOneRanks() {
        String[] nodes = {"a", "a", "b"};
        assertThat(all(Topology::rank, nodes)).containsExactly(0, 1, 2);
        assertThat(all(Topology::size, nodes)).containsExactly(3, 3, 3);
        assertThat(all(Topology::localRank, nodes)).containsExactly(0, 1, 0);
        assertThat(all(Topology::localSize, nodes)).containsExactly(2, 2, 1);
        assertThat(all(Topology::crossRank, nodes)).containsExactly(0, 0, 1);
        assertThat(all(Topology::crossSize, nodes)).containsExactly(2, 1, 2);
    }

    @Test
    void ranksDealtToNodesInTurn() {
        String[] nodes = {"a", "b", "c", "a", "b", "a"};
        assertThat(all(Topology::localRank, nodes)).containsExactly(0, 0, 0, 1, 1, 2);
        assertThat(all(Topology::localSize, nodes)).containsExactly(3, 2, 1, 3, 2, 3);
        assertThat(all(Topology::crossRank, nodes)).containsExactly(0, 1, 2, 0, 1, 0);
        assertThat(all(Topology::crossSize, nodes)).containsExactly(3, 3, 3, 2, 2, 1);
    }

    /** As MPI_Comm_split with the local rank as colour and the rank as key gives it. */
    @Test
    void theCrossRankCountsSmallerRanksOfTheSameLocalRank() {
        String[] nodes = {"a", "b", "b", "a"};
        assertThat(all(Topology::localRank, nodes)).containsExactly(0, 0, 1, 1);
        assertThat(all(Topology::crossRank, nodes)).containsExactly(0, 1, 0, 1);
        assertThat(all(Topology::crossSize, nodes)).containsExactly(2, 2, 2, 2);
    }

    @ParameterizedTest
    @CsvSource({"a a b, false", "a b b, false", "a b c a b a, false", "a a b b, true", "a b a b, true", "a b c, true"})
    void aJobIsHomogeneousWhereAllNodesHaveAsManyRanks(String nodes, boolean homogeneous) {
        List<String> byRank = List.of(nodes.split(" "));
        for (int rank = 0; rank < byRank.size(); rank++) {
            assertThat(Topology.of(rank, byRank, byRank).homogeneous())
                    .as("seen by rank " + rank)
                    .isEqualTo(homogeneous);
        }
    }

    @Test
    void oneRankAlone() {
        Topology alone = Topology.of(0, List.of("n"), List.of("host"));
        assertThat(alone).isEqualTo(new Topology(0, 1, 0, 1, 0, 1, true, List.of("host"), List.of(0)));
    }

    @Test
    void nodesOfOneHostNameAreStillTwoNodes() {
        Topology second = Topology.of(1, List.of("0", "1"), List.of("localhost", "localhost"));
        assertThat(second.localSize()).isEqualTo(1);
        assertThat(second.crossSize()).isEqualTo(2);
        assertThat(second.crossRank()).isEqualTo(1);
    }

    @Test
    void knowsItsHostAndKeepsItsOwnListOfThem() {
        List<String> hosts = new ArrayList<>(List.of("alpha", "beta"));
        Topology second = Topology.of(1, List.of("x", "y"), hosts);
        hosts.set(1, "gamma");
        assertThat(second.host()).isEqualTo("beta");
        assertThatThrownBy(() -> second.hosts().set(0, "delta")).isInstanceOf(UnsupportedOperationException.class);
    }
}
