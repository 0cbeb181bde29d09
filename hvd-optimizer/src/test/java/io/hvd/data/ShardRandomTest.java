package io.hvd.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShardRandomTest {
    private static final int SHARDS = 10;
    private static final int STEPS = 5;

    /** The first three numbers of each shard and step, drawn by the ranks to which the shards are dealt. */
    private static Map<String, List<Long>> drawnBy(int ranks) {
        Map<String, List<Long>> drawn = new TreeMap<>();
        for (int rank = 0; rank < ranks; rank++) {
            ShardRandom random = new ShardRandom(42, SHARDS);
            for (int step = 0; step < STEPS; step++) {
                for (int shard : random.shards(rank, ranks)) {
                    RandomGenerator own = random.of(step, shard);
                    List<Long> before =
                            drawn.put(step + "/" + shard, List.of(own.nextLong(), own.nextLong(), own.nextLong()));
                    assertThat(before)
                            .as("shard %d is drawn by one rank", shard)
                            .isNull();
                }
            }
        }
        return drawn;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 8, 10, 12})
    void anyNumberOfRanksDrawsTheNumbersThatFourDraw(int ranks) {
        assertThat(drawnBy(ranks)).isEqualTo(drawnBy(4)).hasSize(SHARDS * STEPS);
    }

    @Test
    void noTwoShardsNorStepsNorSeedsShareNumbers() {
        Map<String, List<Long>> drawn = drawnBy(4);
        HashSet<Long> all = new HashSet<>();
        drawn.values().forEach(all::addAll);
        assertThat(all).hasSize(3 * SHARDS * STEPS);
        assertThat(new ShardRandom(1, 4).seedOf(2, 3))
                .isNotEqualTo(new ShardRandom(2, 4).seedOf(1, 3))
                .isNotEqualTo(new ShardRandom(1, 4).seedOf(3, 2));
    }

    /** They are part of the contract: a training that is resumed years later draws them again. */
    @Test
    void theNumbersOfAShardNeverChange() {
        assertThat(new ShardRandom(42, SHARDS).seedOf(7, 3)).isEqualTo(8076984150304651870L);
        assertThat(new ShardRandom(42, SHARDS).of(7, 3).nextLong())
                .isEqualTo(new SplitMix64(8076984150304651870L).nextLong());
    }

    @Test
    void shardsAreDealtByTheirRemainder() {
        ShardRandom random = new ShardRandom(0, SHARDS);
        assertThat(random.shards(1, 3)).containsExactly(1, 4, 7);
        assertThat(random.shards(11, 12)).isEmpty();
    }

    @Test
    void theStateHasTheSeedAndAnotherNumberOfShardsIsRefusedWithBoth() {
        ShardRandom resumed = new ShardRandom(1, SHARDS);
        resumed.loadState(new ShardRandom(Long.MIN_VALUE, SHARDS).saveState());
        assertThat(resumed.seedOf(0, 0)).isEqualTo(new ShardRandom(Long.MIN_VALUE, SHARDS).seedOf(0, 0));

        assertThatThrownBy(() -> resumed.loadState(new ShardRandom(5, 16).saveState()))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("ShardRandom", "\"shards\" is \"16\", expected 10");
        assertThatThrownBy(() -> resumed.loadState(Map.of("shards", "10", "seed", "0x1")))
                .hasMessageContainingAll("\"seed\" is \"0x1\"", "64 bits");
        assertThat(resumed.saveState()).containsEntry("seed", String.valueOf(Long.MIN_VALUE));
    }

    @Test
    void placesThatDoNotExistAreRefused() {
        ShardRandom random = new ShardRandom(0, SHARDS);
        assertThatThrownBy(() -> new ShardRandom(0, 0)).hasMessageContaining("0 logical shards");
        assertThatThrownBy(() -> random.of(0, 10)).hasMessageContaining("shard 10 of 10: expected 0 to 9");
        assertThatThrownBy(() -> random.shards(3, 3)).hasMessageContaining("rank 3 of 3");
    }
}
