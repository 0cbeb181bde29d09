package io.hvd.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class DistributedSamplerTest {

    @Test
    void unevenSamplesArePaddedWithTheHeadOfTheOrder() {
        assertThat(deal(10, 4, false))
                .containsExactly(List.of(0, 4, 8), List.of(1, 5, 9), List.of(2, 6, 0), List.of(3, 7, 1));
        assertThat(deal(5, 2, false)).containsExactly(List.of(0, 2, 4), List.of(1, 3, 0));
    }

    @Test
    void withDropLastTheUnevenTailIsLeftOut() {
        assertThat(deal(10, 4, true)).containsExactly(List.of(0, 4), List.of(1, 5), List.of(2, 6), List.of(3, 7));
    }

    @Test
    void withDropLastAnEvenDealIsWhole() {
        assertThat(deal(8, 4, true)).containsExactly(List.of(0, 4), List.of(1, 5), List.of(2, 6), List.of(3, 7));
    }

    @Test
    void paddingLongerThanTheDataSetGoesRoundAgain() {
        assertThat(deal(3, 8, false).stream().flatMap(List::stream)).containsExactly(0, 1, 2, 0, 1, 2, 0, 1);
        assertThat(deal(1, 3, false).stream().flatMap(List::stream)).containsExactly(0, 0, 0);
    }

    @Test
    void paddingIsCountedPerRank() {
        assertThat(paddings(10, 4)).containsExactly(0, 0, 1, 1);
        assertThat(paddings(3, 8)).containsExactly(0, 0, 0, 1, 1, 1, 1, 1);
        assertThat(paddings(8, 4)).containsExactly(0, 0, 0, 0);
        assertThat(DistributedSampler.builder(10, 4, 0).dropLast(true).build().padding())
                .isZero();
    }

    @Test
    void aRankWithoutSamplesIsWarnedOf() {
        for (int rank = 0; rank < 4; rank++) {
            int thisRank = rank;
            String log = logOf(() -> assertThat(DistributedSampler.builder(3, 4, thisRank)
                            .dropLast(true)
                            .build()
                            .indices())
                    .isEmpty());

            assertThat(log).contains("WARN", "rank " + rank + " gets 0 samples", "3 samples for 4 replicas");
        }
        assertThat(logOf(() -> new DistributedSampler(0, 1, 0))).contains("WARN", "gets 0 samples");
        assertThat(logOf(() -> new DistributedSampler(3, 4, 3))).isEmpty();
    }

    @Test
    void anInvalidRankIsNamedWithItsInterval() {
        for (int rank : new int[] {-1, 4, 5}) {
            assertThatThrownBy(() -> new DistributedSampler(10, 4, rank))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("invalid rank " + rank, "[0, 3]");
        }
    }

    @Test
    void senselessSizesAreRefused() {
        assertThatThrownBy(() -> new DistributedSampler(-1, 4, 0)).hasMessageContainingAll("data set", "-1");
        assertThatThrownBy(() -> new DistributedSampler(10, 0, 0)).hasMessageContainingAll("replica", "0");
        assertThatThrownBy(() -> new DistributedSampler(10, 4, 0).setEpoch(-1)).hasMessageContainingAll("epoch", "-1");
    }

    @Test
    void largeDealsDoNotOverflow() {
        var sampler = DistributedSampler.builder(3, Integer.MAX_VALUE, Integer.MAX_VALUE - 1)
                .shuffle(false)
                .build();

        assertThat(sampler.indices()).containsExactly((Integer.MAX_VALUE - 1) % 3);
        assertThat(new EvalSampler(Integer.MAX_VALUE, 2, 0).length()).isEqualTo(1 << 30);
        assertThat(new DistributedSampler(Integer.MAX_VALUE, 2, 1).length()).isEqualTo(1 << 30);
    }

    @Test
    void shufflingDealsThePinnedPermutation() {
        int[][] ranks = IntStream.range(0, 2)
                .mapToObj(rank -> new DistributedSampler(10, 2, rank).indices())
                .toArray(int[][]::new);

        assertThat(ranks[0]).containsExactly(4, 2, 1, 6, 3);
        assertThat(ranks[1]).containsExactly(9, 5, 7, 0, 8);
    }

    @Test
    void seedAndEpochAddUp() {
        var sampler = DistributedSampler.builder(10, 1, 0).seed(-3).build();
        sampler.setEpoch(2);

        assertThat(sampler.indices()).isEqualTo(Permutation.of(10, -1));
    }

    @Test
    void allRanksTogetherSeeEverySampleInEveryEpoch() {
        for (int epoch = 0; epoch < 5; epoch++) {
            int[] seen = new int[103];
            for (int rank = 0; rank < 4; rank++) {
                var sampler = new DistributedSampler(103, 4, rank);
                sampler.setEpoch(epoch);
                int[] indices = sampler.indices();
                Arrays.stream(indices, 0, indices.length - sampler.padding()).forEach(index -> seen[index]++);
            }
            assertThat(seen).containsOnly(1);
        }
    }

    @Test
    void anEpochMovesOnByItself() {
        var sampler = new DistributedSampler(21, 1, 0);

        for (int epoch = 0; epoch < 3; epoch++) {
            assertThat(sampler.beginEpoch()).isEqualTo(Permutation.of(21, epoch));
            assertThat(sampler.epoch()).isEqualTo(epoch);
        }
    }

    @Test
    void lookingAtTheIndicesDoesNotMoveOn() {
        var sampler = new DistributedSampler(21, 1, 0);
        sampler.indices();
        sampler.beginEpoch();
        sampler.indices();

        assertThat(sampler.indices()).isEqualTo(Permutation.of(21, 0));
        assertThat(sampler.beginEpoch()).isEqualTo(Permutation.of(21, 1));
    }

    @Test
    void settingTheEpochOverridesTheCountAndCountingGoesOnFromThere() {
        var sampler = new DistributedSampler(21, 1, 0);
        sampler.beginEpoch();
        sampler.setEpoch(7);

        assertThat(sampler.beginEpoch()).isEqualTo(Permutation.of(21, 7));
        assertThat(sampler.beginEpoch()).isEqualTo(Permutation.of(21, 8));
    }

    @Test
    void settingTheSameEpochEachTimeRepeatsTheOrder() {
        var sampler = new DistributedSampler(21, 1, 0);
        for (int i = 0; i < 3; i++) {
            sampler.setEpoch(0);
            assertThat(sampler.beginEpoch()).isEqualTo(Permutation.of(21, 0));
        }
    }

    @Test
    void withoutShufflingEveryEpochIsInOrder() {
        var sampler = DistributedSampler.builder(4, 1, 0).shuffle(false).build();

        assertThat(sampler.beginEpoch()).containsExactly(0, 1, 2, 3);
        assertThat(sampler.beginEpoch()).containsExactly(0, 1, 2, 3);
    }

    private static List<List<Integer>> deal(int size, int replicas, boolean dropLast) {
        return IntStream.range(0, replicas)
                .mapToObj(rank -> DistributedSampler.builder(size, replicas, rank)
                        .shuffle(false)
                        .dropLast(dropLast)
                        .build())
                .peek(sampler -> assertThat(sampler.indices()).hasSize(sampler.length()))
                .map(sampler -> Arrays.stream(sampler.indices()).boxed().toList())
                .toList();
    }

    private static int[] paddings(int size, int replicas) {
        return IntStream.range(0, replicas)
                .map(rank -> new DistributedSampler(size, replicas, rank).padding())
                .toArray();
    }

    private static String logOf(Runnable body) {
        PrintStream before = System.err;
        var captured = new ByteArrayOutputStream();
        System.setErr(new PrintStream(captured, true, StandardCharsets.UTF_8));
        try {
            body.run();
        } finally {
            System.setErr(before);
        }
        return captured.toString(StandardCharsets.UTF_8);
    }
}
