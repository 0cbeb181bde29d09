package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.InitOptions;
import io.hvd.LocalRanks;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Map;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Broadcasts over TCP, where small ones go along a tree, whose shape depends on the number of ranks. */
@Timeout(120)
class TreeBroadcastTest {
    /** Nothing, one, odd, a message, one more, as much as goes along a tree, one more. */
    private static final int[] SIZES = {0, 1, 7, 16_128, 16_129, 65_536, 65_537};

    @ParameterizedTest
    @ValueSource(ints = {3, 5, 8})
    void everyRankGetsTheValuesOfEachRoot(int ranks) {
        Map<String, String> settings = Map.of("HVD_SHARED_MEMORY", "0", "HVD_TCP_CONNECTIONS", "3");
        LocalRanks.spawnOverTcp(ranks, InitOptions.standard(), settings, hvd -> {
            for (int root = 0; root < ranks; root++) {
                for (int size : SIZES) {
                    Tensor mine = Values.ramp(DType.FLOAT32, size, hvd.rank());
                    assertThat(hvd.broadcast("b." + root + "." + size, mine, root)
                                    .toFloatArray())
                            .isEqualTo(Values.ramp(DType.FLOAT32, size, root).toFloatArray());
                }
            }
            return null;
        });
    }
}
