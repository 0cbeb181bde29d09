package io.hvd.collective;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The parts of all ranks together, for each root. */
class RelayTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 100})
    void aTreeReachesEachRankOnceInTheFewestSteps(int size) {
        int fewest = Integer.SIZE - Integer.numberOfLeadingZeros(size - 1);
        for (int root = 0; root < size; root++) {
            int[] steps = steps(size, root, Relay.TREE_BYTES);
            assertThat(IntStream.of(steps).max()).hasValue(fewest);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 8})
    void aChainReachesOneRankAfterTheOther(int size) {
        for (int root = 0; root < size; root++) {
            int[] steps = steps(size, root, Relay.TREE_BYTES + 1);
            assertThat(IntStream.of(steps).sorted().toArray())
                    .isEqualTo(IntStream.range(0, size).toArray());
        }
    }

    /** The step in which each rank gets the data, if a rank serves one other in each step. */
    private static int[] steps(int size, int root, int bytes) {
        int[] steps = new int[size];
        Arrays.fill(steps, -1);
        steps[root] = 0;
        Deque<Integer> serving = new ArrayDeque<>(List.of(root));
        while (!serving.isEmpty()) {
            int rank = serving.remove();
            int step = steps[rank];
            for (int served : Relay.of(rank, size, root, bytes).to()) {
                assertThat(steps[served]).as("%d is served once", served).isEqualTo(-1);
                assertThat(Relay.of(served, size, root, bytes).from()).isEqualTo(rank);
                steps[served] = ++step;
                serving.add(served);
            }
        }
        assertThat(Relay.of(root, size, root, bytes).last())
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, size)
                        .filter(rank -> rank != root
                                && Relay.of(rank, size, root, bytes).to().isEmpty())
                        .boxed()
                        .toList());
        assertThat(IntStream.of(steps)).doesNotContain(-1);
        return steps;
    }
}
