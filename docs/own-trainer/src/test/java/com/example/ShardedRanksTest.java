package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hvd.Hvd;
import java.util.List;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShardedRanksTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void noRankHasTheWholeModelAndAllKnowTheCircle(int ranks) throws Exception {
        torch.manual_seed(3);
        List<Long> right = Hvd.spawn(ranks, hvd -> ShardedRanks.train(hvd, 10));

        assertTrue(right.get(0) > 0.9 * Circle.POINTS, right + " of " + Circle.POINTS + " right");
        assertEquals(1, right.stream().distinct().count(), right.toString());
    }
}
