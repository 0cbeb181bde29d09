package io.hvd.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.data.DataLoader;
import io.hvd.data.mapped.MappedDataset;
import io.hvd.spark.columns.ColumnBatch;
import io.hvd.spark.columns.ReadColumns;
import io.hvd.spark.columns.RowEncoder;
import io.hvd.tensor.Shape;
import io.hvd.train.UnevenSteps;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ranks as threads that have different rows of one DataFrame. */
class SparkRowsTest {
    private static final StructType SCHEMA =
            new StructType().add("id", DataTypes.IntegerType).add("bytes", DataTypes.BinaryType);

    @TempDir
    Path folder;

    /** So many rows, from the number 100 times the rank on, with so many bytes each. */
    private Spill spill(int rank, int rows, int bytes) throws Exception {
        ReadColumns columns = ReadColumns.of(SCHEMA, List.of("bytes", "id"));
        RowEncoder encoder = new RowEncoder(columns, rank);
        MappedDataset records = MappedDataset.temporary(folder.resolve("rank" + rank), "test", into -> {
            for (int row = 0; row < rows; row++) {
                into.add(encoder.encode(RowFactory.create(100 * rank + row, new byte[bytes])));
            }
        });
        return new Spill(records, columns, encoder.layout());
    }

    @Test
    void aRankWithoutRowsKnowsTheShapesOfTheOthers() {
        assertThat(Hvd.spawn(3, hvd -> {
                    SparkRows rows = new SparkRows(hvd, spill(hvd.rank(), hvd.rank() == 0 ? 0 : 2, 5), 2);
                    return List.of(rows.shape("bytes"), rows.shape("id"));
                }))
                .hasSize(3)
                .containsOnly(List.of(Shape.of(5), Shape.scalar()));
    }

    @Test
    void otherShapesOnAnotherRankAreAnErrorThatNamesBoth() {
        assertThatThrownBy(() -> Hvd.spawn(3, hvd -> new SparkRows(hvd, spill(hvd.rank(), 1, 5 + hvd.rank() / 2), 2)))
                .hasMessageContaining("column \"bytes\" has values of the shape [5] on rank 0 and of [6] on rank 2,"
                        + " expected the same in all rows");
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> new SparkRows(hvd, spill(hvd.rank(), 0, 5), 2)))
                .hasMessageContaining("the DataFrame has no row for any of 2 ranks");
    }

    @Test
    void aRankWithFewerRowsRepeatsSomeUnlessItJoinsAndEachEpochHasAnotherOrder() {
        List<List<List<Integer>>> seen = Hvd.spawn(2, hvd -> {
            SparkRows rows = new SparkRows(hvd, spill(hvd.rank(), 7 - 3 * hvd.rank(), 1), 2);
            PartitionSampler sampler = rows.shuffled(5);
            List<List<Integer>> epochs = new ArrayList<>();
            try (var loader = rows.loader(sampler).workers(1).build()) {
                epochs.add(epoch(loader));
                epochs.add(epoch(loader));
                sampler.setEpoch(0);
                epochs.add(epoch(loader));
            }
            try (var loader = rows.loader(rows.inOrder())
                    .evenSteps(UnevenSteps.JOIN.among(hvd))
                    .build()) {
                epochs.add(epoch(loader));
            }
            return epochs;
        });

        for (int rank = 0; rank < 2; rank++) {
            List<List<Integer>> epochs = seen.get(rank);
            Integer[] all = rank == 0 ? new Integer[] {0, 1, 2, 3, 4, 5, 6} : new Integer[] {100, 101, 102, 103};
            assertThat(epochs.get(0)).hasSize(7).contains(all).isNotEqualTo(Arrays.asList(all));
            assertThat(epochs.get(1)).hasSize(7).contains(all).isNotEqualTo(epochs.get(0));
            assertThat(epochs.get(2)).isEqualTo(epochs.get(0));
            assertThat(epochs.get(3)).containsExactly(all);
        }
    }

    private static List<Integer> epoch(DataLoader<ColumnBatch, ColumnBatch> loader) {
        List<Integer> seen = new ArrayList<>();
        for (ColumnBatch batch : loader) {
            for (int id : batch.ints("id")) {
                seen.add(id);
            }
        }
        return seen;
    }
}
