package io.hvd.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class EvalSamplerTest {

    @Test
    void unevenSamplesAreNotPadded() {
        assertThat(new EvalSampler(5, 2, 0).indices()).containsExactly(0, 2, 4);
        assertThat(new EvalSampler(5, 2, 1).indices()).containsExactly(1, 3);
    }

    @Test
    void overAllRanksEverySampleOccursOnce() {
        for (int size = 0; size < 20; size++) {
            for (int replicas = 1; replicas < 9; replicas++) {
                int[] all = all(size, replicas);
                Arrays.sort(all);
                assertThat(all).as("%d samples, %d replicas", size, replicas).isEqualTo(Permutation.identity(size));
            }
        }
    }

    @Test
    void aRankMayGetNothing() {
        assertThat(new EvalSampler(3, 8, 2).indices()).containsExactly(2);
        assertThat(new EvalSampler(3, 8, 3).indices()).isEmpty();
    }

    @Test
    void theLengthIsThatOfTheIndices() {
        for (int rank = 0; rank < 4; rank++) {
            var sampler = new EvalSampler(10, 4, rank);
            assertThat(sampler.indices()).hasSize(sampler.length());
        }
    }

    @Test
    void everyEpochIsTheSame() {
        var sampler = new EvalSampler(5, 2, 1);

        assertThat(sampler.beginEpoch()).containsExactly(1, 3);
        assertThat(sampler.beginEpoch()).containsExactly(1, 3);
    }

    @Test
    void anInvalidRankIsNamedWithItsInterval() {
        assertThatThrownBy(() -> new EvalSampler(10, 4, 4))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("invalid rank 4", "[0, 3]");
    }

    private static int[] all(int size, int replicas) {
        return IntStream.range(0, replicas)
                .flatMap(rank -> Arrays.stream(new EvalSampler(size, replicas, rank).indices()))
                .toArray();
    }
}
