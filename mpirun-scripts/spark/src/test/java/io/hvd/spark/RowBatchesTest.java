package io.hvd.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RowBatchesTest {
    @Test
    void everyRankHasAsManyBatchesAsTheOneWithTheFewestRowsInEachEpoch() {
        List<List<List<Integer>>> seen = Hvd.spawn(2, hvd -> {
            List<Integer> rows =
                    IntStream.range(0, hvd.rank() == 0 ? 7 : 5).boxed().toList();
            RowBatches<Integer> batches = new RowBatches<>(hvd, rows, 2);
            assertThat(batches.size()).isEqualTo(2);
            assertThat(batches.rows()).isEqualTo(rows);
            List<List<Integer>> all = new ArrayList<>();
            for (int epoch = 0; epoch < 2; epoch++) {
                batches.forEach(all::add);
            }
            return all;
        });

        List<List<Integer>> twice = List.of(List.of(0, 1), List.of(2, 3), List.of(0, 1), List.of(2, 3));
        assertThat(seen).containsExactly(twice, twice);
    }

    @Test
    void aRankWithTooFewRowsLeavesNoBatchToAnyone() {
        assertThat(Hvd.spawn(2, hvd -> new RowBatches<>(hvd, List.of(1, 2, 3).subList(0, hvd.rank() + 2), 3).size()))
                .containsExactly(0, 0);
    }
}
