package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** Allreduces of rows that the ranks have in different numbers. */
public class SparseContractTest extends Contract {
    private static final int WIDTH = 3;
    private static final int ROWS = 7;

    /** Rank r has r rows, which begin at row r; so all but the first overlap with others'. */
    private static Tensor indices(HvdContext hvd) {
        long[] rows = new long[hvd.rank()];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = (hvd.rank() + i) % ROWS;
        }
        return Tensor.of(rows);
    }

    private static Tensor values(HvdContext hvd, DType type) {
        return Values.tensor(type, Shape.of(hvd.rank(), WIDTH), i -> 1 + hvd.rank() + i % WIDTH);
    }

    private static double[] dense(List<Tensor> rows) {
        long[] indices = (long[]) rows.get(0).toArray();
        float[] values = rows.get(1).toFloatArray();
        assertThat(values).hasSize(indices.length * WIDTH);
        double[] dense = new double[ROWS * WIDTH];
        for (int i = 0; i < values.length; i++) {
            dense[(int) indices[i / WIDTH] * WIDTH + i % WIDTH] += values[i];
        }
        return dense;
    }

    private static double[] expected(HvdContext hvd) {
        double[] sum = new double[ROWS * WIDTH];
        for (int rank = 0; rank < hvd.size(); rank++) {
            for (int i = 0; i < rank * WIDTH; i++) {
                sum[(rank + i / WIDTH) % ROWS * WIDTH + i % WIDTH] += 1 + rank + i % WIDTH;
            }
        }
        return sum;
    }

    @Test
    void rowsThatSeveralRanksHaveAddUpInEveryType() throws Exception {
        onAll(hvd -> {
            for (DType type : List.of(DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.FLOAT16)) {
                List<Tensor> sum = hvd.sparseAllreduce("sum." + type, indices(hvd), values(hvd, type), ReduceOp.SUM);
                assertThat(dense(sum)).as("%s", type).containsExactly(expected(hvd));
            }
            return null;
        });
    }

    @Test
    void anAverageIsDividedByTheNumberOfRanksAndTheInputStays() throws Exception {
        onAll(hvd -> {
            Tensor mine = values(hvd, DType.FLOAT32);
            float[] before = mine.toFloatArray();
            List<Handle> handles = hvd.sparseAllreduceAsync("mean", indices(hvd), mine, ReduceOp.AVERAGE);
            List<Tensor> mean = handles.stream().map(Handle::synchronize).toList();

            double[] expected = expected(hvd);
            for (int i = 0; i < expected.length; i++) {
                expected[i] /= hvd.size();
            }
            assertThat(dense(mean)).containsExactly(expected, Offset.offset(1e-5));
            assertThat(mine.toFloatArray()).isEqualTo(before);
            return null;
        });
    }

    @Test
    void theRanksOfAProcessSetGatherTheirOwnRows() throws Exception {
        onAllOf(3, hvd -> {
            ProcessSet last = hvd.addProcessSet(List.of(0, hvd.size() - 1));
            if (last.included()) {
                Tensor indices = Tensor.of(new int[] {hvd.rank()});
                Tensor values = Tensor.wrap(new float[] {2, 4}, DType.FLOAT32, Shape.of(1, 2));
                List<Tensor> mean = last.sparseAllreduce("set", indices, values, ReduceOp.AVERAGE);
                assertThat((int[]) mean.get(0).toArray()).containsExactly(0, hvd.size() - 1);
                assertThat(mean.get(1).toFloatArray()).containsExactly(1, 2, 1, 2);
            }
            hvd.removeProcessSet(last);
            return null;
        });
    }

    @Test
    void whatCannotBeRightIsRefusedBeforeAnythingIsSent() throws Exception {
        onAll(hvd -> {
            Tensor three = Tensor.of(1L, 2L, 3L);
            Tensor twoRows = Tensor.zeros(DType.FLOAT32, Shape.of(2, WIDTH));
            refused(hvd, three, twoRows, ReduceOp.SUM, "expected one row for each of 3 indices");
            refused(hvd, Tensor.of(1f, 2f), twoRows, ReduceOp.SUM, "expected one row of int64 or int32");
            refused(hvd, Tensor.of(1L, 2L), twoRows, ReduceOp.MAX, "the operation is MAX, expected SUM or AVERAGE");
            refused(hvd, Tensor.of(1L, 2L), Tensor.of(1, 2), ReduceOp.AVERAGE, "expected SUM");
            return null;
        });
    }

    private static void refused(HvdContext hvd, Tensor indices, Tensor values, ReduceOp op, String why) {
        assertThatThrownBy(() -> hvd.sparseAllreduce("rows", indices, values, op))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-202", "\"rows\"", "sparseAllreduce", why);
    }

    @Test
    void rowsOfDifferentWidthsAreNamedWithTheirRanks() throws Exception {
        onAllOf(2, hvd -> {
            int width = hvd.rank() == 1 ? 2 : WIDTH;
            assertThatThrownBy(() -> hvd.sparseAllreduce(
                            "wide", Tensor.of(1L), Tensor.zeros(DType.FLOAT32, Shape.of(1, width)), ReduceOp.SUM))
                    .isInstanceOf(RankMismatchException.class)
                    .hasMessageContaining("wide.1");
            requireUsable(hvd, "sparse");
            return null;
        });
    }
}
