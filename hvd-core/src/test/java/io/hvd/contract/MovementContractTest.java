package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.AlltoallResult;
import io.hvd.Compression;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Operations that give the ranks different things: alltoall, scatters, gathers, transfers, reductions to one. */
public class MovementContractTest extends Contract {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    /** More than a stage of any back end, and no multiple of anything. */
    private static final int LARGE = 1_300_003;

    /** The value that rank {@code from} sends to rank {@code to}: recognisable, and small in every type. */
    private static int sent(int from, int to, int index) {
        return (from * 5 + to * 3 + index) % 2;
    }

    private static Tensor outgoing(DType type, int rank, int columns, int... splits) {
        List<Integer> values = new ArrayList<>();
        for (int to = 0; to < splits.length; to++) {
            for (int i = 0; i < splits[to] * columns; i++) {
                values.add(sent(rank, to, i));
            }
        }
        return Values.tensor(type, Shape.of(Arrays.stream(splits).sum(), columns), values::get);
    }

    private static float[] incoming(int rank, int columns, int[] received) {
        List<Float> values = new ArrayList<>();
        for (int from = 0; from < received.length; from++) {
            for (int i = 0; i < received[from] * columns; i++) {
                values.add((float) sent(from, rank, i));
            }
        }
        float[] array = new float[values.size()];
        for (int i = 0; i < array.length; i++) {
            array[i] = values.get(i);
        }
        return array;
    }

    /** The values of all ranks' rows, one rank after the other. */
    private static float[] gathered(DType type, int size, int elements) {
        float[] all = new float[size * elements];
        for (int i = 0; i < all.length; i++) {
            all[i] = Values.value(type, i % elements, i / elements);
        }
        return all;
    }

    @Test
    void allgatherIntoATensorOfTheProgramsFillsIt() throws Exception {
        onAll(hvd -> {
            for (DType type : DType.values()) {
                for (int rows : new int[] {0, 1, 7}) {
                    String name = "into.gather." + type + "." + rows;
                    Tensor mine = Values.rows(type, rows, 3, hvd.rank());
                    Tensor all = Tensor.zeros(type, Shape.of((long) hvd.size() * rows, 3));
                    Tensor result = hvd.allgatherIntoAsync(name, mine, all).synchronize();

                    assertThat(result).as(name).isSameAs(all);
                    assertThat(all.toFloatArray()).as(name).isEqualTo(gathered(type, hvd.size(), 3 * rows));
                }
            }
            Tensor large = Values.rows(DType.FLOAT32, LARGE, 1, hvd.rank());
            Tensor all = Tensor.zeros(DType.FLOAT32, Shape.of((long) hvd.size() * LARGE, 1));
            hvd.allgatherIntoAsync("into.gather.large", large, all).synchronize();
            assertThat(all.toFloatArray()).isEqualTo(gathered(DType.FLOAT32, hvd.size(), LARGE));
            return null;
        });
    }

    @Test
    void reducescatterIntoATensorOfTheProgramsFillsIt() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            for (int rows : new int[] {1, 5, 300_007}) {
                float[] mine = new float[n * rows];
                for (int i = 0; i < mine.length; i++) {
                    mine[i] = (hvd.rank() + 1) * (i % 13);
                }
                Tensor sum = Tensor.zeros(DType.FLOAT32, Shape.of(rows));
                Tensor result = hvd.reducescatterIntoAsync("into.scatter." + rows, Tensor.of(mine), sum, SUM)
                        .synchronize();

                float[] expected = new float[rows];
                for (int i = 0; i < rows; i++) {
                    expected[i] = n * (n + 1) / 2f * ((hvd.rank() * rows + i) % 13);
                }
                assertThat(result).isSameAs(sum);
                assertThat(sum.toFloatArray()).isEqualTo(expected);
            }
            return null;
        });
    }

    @Test
    void aTensorThatCannotTakeTheResultIsRefusedBeforeAnythingIsSent() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            Tensor mine = Tensor.zeros(DType.FLOAT32, Shape.of(2, 3));
            Tensor rows = Tensor.zeros(DType.FLOAT32, Shape.of(2L * n + 1, 3));
            assertThatThrownBy(() -> hvd.allgatherIntoAsync("into.wrong", mine, rows))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll(
                            "into.wrong",
                            rows.shape().toString(),
                            Shape.of(2L * n, 3).toString());
            Tensor type = Tensor.zeros(DType.FLOAT64, Shape.of(2L * n, 3));
            assertThatThrownBy(() -> hvd.allgatherIntoAsync("into.wrong", mine, type))
                    .hasMessageContainingAll("float64", "float32");
            assertThatThrownBy(() -> hvd.reducescatterIntoAsync("into.wrong", type, rows, SUM))
                    .hasMessageContainingAll("into.wrong", "float64");
            if (n > 1) {
                assertThatThrownBy(() -> hvd.reducescatterIntoAsync("into.wrong", rows, mine, SUM))
                        .hasMessageContainingAll("multiple of the " + n + " ranks", String.valueOf(2 * n + 1));
            }
            return null;
        });
    }

    @Test
    void alltoallWithoutSplitsGivesEveryRankAnEqualPart() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            for (DType type : DType.values()) {
                for (int share : new int[] {0, 1, 3}) {
                    int[] splits = IntStream.range(0, n).map(to -> share).toArray();
                    String name = "a2a.equal." + type + "." + share;
                    AlltoallResult result = hvd.alltoall(name, outgoing(type, hvd.rank(), 2, splits));

                    assertThat(result.receivedSplits()).as(name).isEqualTo(splits);
                    assertThat(result.output().dtype()).isEqualTo(type);
                    assertThat(result.output().shape()).isEqualTo(Shape.of((long) n * share, 2));
                    assertThat(result.output().toFloatArray()).as(name).isEqualTo(incoming(hvd.rank(), 2, splits));
                }
            }
            return null;
        });
    }

    @Test
    void alltoallWithSplitsGivesEveryRankWhatIsMeantForIt() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            int self = hvd.rank();
            for (DType type : DType.values()) {
                // Rank r sends (r + 2 to) % 4 rows to rank "to", so some send nothing.
                int[] splits =
                        IntStream.range(0, n).map(to -> (self + 2 * to) % 4).toArray();
                int[] received =
                        IntStream.range(0, n).map(from -> (from + 2 * self) % 4).toArray();
                AlltoallResult result = hvd.alltoall("a2a.splits." + type, outgoing(type, self, 3, splits), splits);

                assertThat(result.receivedSplits()).isEqualTo(received);
                assertThat(result.output().toFloatArray()).isEqualTo(incoming(self, 3, received));
            }
            return null;
        });
    }

    @Test
    void alltoallLeavesRowsBeyondTheSplitsAtHome() throws Exception {
        onAll(hvd -> {
            int[] splits = IntStream.range(0, hvd.size()).map(to -> 1).toArray();
            Tensor tensor = Values.rows(DType.FLOAT32, hvd.size() + 5, 1, hvd.rank());
            AlltoallResult result = hvd.alltoall("a2a.rest", tensor, splits);

            float[] expected = new float[hvd.size()];
            for (int from = 0; from < hvd.size(); from++) {
                expected[from] = Values.value(DType.FLOAT32, hvd.rank(), from);
            }
            assertThat(result.output().toFloatArray()).isEqualTo(expected);
            return null;
        });
    }

    @Test
    void alltoallCarriesMoreThanAStageBetweenTwoRanksAndNothingElsewhere() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            int[] splits = new int[n];
            splits[(hvd.rank() + 1) % n] = LARGE;
            AlltoallResult result = hvd.alltoall("a2a.large", Values.rows(DType.FLOAT32, LARGE, 1, hvd.rank()), splits);

            int from = (hvd.rank() + n - 1) % n;
            int[] received = new int[n];
            received[from] = LARGE;
            assertThat(result.receivedSplits()).isEqualTo(received);
            assertThat(result.output().toFloatArray())
                    .isEqualTo(Values.rows(DType.FLOAT32, LARGE, 1, from).toFloatArray());
            return null;
        });
    }

    /** Without splits every rank gets as many rows. */
    @Test
    void alltoallWithoutSplitsOfRowsThatDoNotDivideIsRefusedAtTheCall() throws Exception {
        onAllOf(2, hvd -> {
            int rows = 2 * hvd.size() + 1;
            refused(
                    () -> hvd.alltoall("a2a.odd", Tensor.of(new float[rows])),
                    "a2a.odd",
                    "multiple of the " + hvd.size() + " ranks",
                    "it is " + rows);
            requireUsable(hvd, "a2a.odd");
            return null;
        });
    }

    @Test
    void splitsThatDoNotFitAreRefusedAtTheCallWithTheNumbersOnBothSides() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            Tensor tensor = Tensor.of(new float[4]);
            refused(
                    () -> hvd.alltoall("a2a.count", tensor, new int[n + 1]),
                    "a2a.count",
                    n + 1 + " splits",
                    n + " ranks");
            int[] tooMany = new int[n];
            tooMany[n - 1] = 5;
            refused(
                    () -> hvd.alltoall("a2a.sum", tensor, tooMany),
                    "a2a.sum",
                    Arrays.toString(tooMany),
                    "add up to 5",
                    "first dimension is 4");
            int[] negative = new int[n];
            negative[0] = -1;
            refused(() -> hvd.alltoall("a2a.negative", tensor, negative), "a2a.negative", "negative");
            refused(
                    () -> hvd.alltoall("a2a.scalar", Tensor.wrap(new float[1], DType.FLOAT32, Shape.scalar())),
                    "a2a.scalar",
                    "scalar");
            requireUsable(hvd, "a2a.splits");
            return null;
        });
    }

    /** Five rows over three ranks are 2, 2 and 1. */
    @Test
    void reducescatterGivesTheFirstRanksOneRowMoreWhereTheyDoNotGoUp() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            for (DType type : DType.values()) {
                for (int rows : new int[] {0, 1, n, 2 * n - 1, 5, 7 * n + 3}) {
                    String name = "rs." + type + "." + rows;
                    Tensor mine = hvd.reducescatter(name, Values.rows(type, rows, 2, hvd.rank()), SUM);
                    int first = start(rows, n, hvd.rank());
                    int last = start(rows, n, hvd.rank() + 1);
                    float[] all = Values.expected(type, rows * 2, n, ReduceOp.SUM);

                    assertThat(mine.shape()).as(name).isEqualTo(Shape.of(last - first, 2));
                    assertThat(mine.toFloatArray()).as(name).isEqualTo(Arrays.copyOfRange(all, 2 * first, 2 * last));
                }
            }
            if (n == 3) {
                Tensor five = hvd.reducescatter("rs.five", Tensor.of(1f, 2, 3, 4, 5), SUM);
                assertThat(five.elements()).isEqualTo(hvd.rank() < 2 ? 2 : 1);
            }
            return null;
        });
    }

    private static int start(int rows, int size, int rank) {
        return rows / size * rank + Math.min(rank, rows % size);
    }

    @Test
    void reducescatterAveragesAndScales() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            float[] ones = new float[n];
            Arrays.fill(ones, hvd.rank());
            float mean = (n - 1) / 2f;
            assertThat(hvd.reducescatter("rs.mean", Tensor.of(ones), AllreduceOptions.average())
                            .item())
                    .isCloseTo(mean, ROUNDED);
            assertThat(hvd.reducescatter("rs.pre", Tensor.of(ones), SUM.withPrescale(3))
                            .item())
                    .isEqualTo(3 * n * mean);
            assertThat(hvd.reducescatter(
                                    "rs.post",
                                    Tensor.of(ones),
                                    AllreduceOptions.average().withPostscale(0.5))
                            .item())
                    .isCloseTo(mean / 2, ROUNDED);
            int[] whole = new int[n];
            Arrays.fill(whole, hvd.rank());
            int[] truncated = (int[]) hvd.reducescatter("rs.int", Tensor.of(whole), AllreduceOptions.average())
                    .toArray();
            assertThat(truncated).containsExactly((n - 1) / 2);
            return null;
        });
    }

    /** 1 + 2^-12 is a float32, but neither a binary16 nor a bfloat16; integers are not converted. */
    @Test
    void reducescatterAndReduceCompressOnTheWireAndKeepTheType() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            float fine = 1 + 0x1p-12f;
            float[] floats = new float[n];
            double[] doubles = new double[n];
            int[] integers = new int[n];
            Arrays.fill(floats, fine);
            Arrays.fill(doubles, fine);
            Arrays.fill(integers, 70_001);
            for (Compression kind : Compression.values()) {
                AllreduceOptions options = SUM.withCompression(kind);
                boolean onOneHost = hvd.localSize() == n;
                boolean asTheyAre = kind == Compression.NONE || (kind == Compression.AUTO && onOneHost);
                float expected = asTheyAre ? n * fine : n;

                Tensor scattered = hvd.reducescatter("rs.half." + kind, Tensor.of(floats), options);
                assertThat(scattered.dtype()).isEqualTo(DType.FLOAT32);
                assertThat(scattered.item()).as(kind.name()).isEqualTo(expected);
                Tensor wide = hvd.reducescatter("rs.half.double." + kind, Tensor.of(doubles), options);
                assertThat((double[]) wide.toArray()).as(kind.name()).containsExactly(expected);
                Tensor whole = hvd.reducescatter("rs.half.int." + kind, Tensor.of(integers), options);
                assertThat((int[]) whole.toArray()).as(kind.name()).containsExactly(n * 70_001);

                Tensor reduced = hvd.reduce("reduce.half." + kind, Tensor.of(floats), options, n - 1);
                if (hvd.rank() == n - 1) {
                    assertThat(reduced.dtype()).isEqualTo(DType.FLOAT32);
                    assertThat(reduced.toFloatArray()).as(kind.name()).containsOnly(expected);
                }
            }
            return null;
        });
    }

    @Test
    void reducescatterCarriesMoreThanAStage() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            float[] mine = hvd.reducescatter("rs.large", Values.ramp(DType.FLOAT32, LARGE, hvd.rank()), SUM)
                    .toFloatArray();
            float[] all = Values.expected(DType.FLOAT32, LARGE, n, ReduceOp.SUM);
            assertThat(mine)
                    .isEqualTo(Arrays.copyOfRange(all, start(LARGE, n, hvd.rank()), start(LARGE, n, hvd.rank() + 1)));
            return null;
        });
    }

    @Test
    void reducescattersInFlightTogetherFindEachOther() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            List<Handle> handles = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                int own = (i + 3 * hvd.rank()) % 20;
                float[] values = new float[n];
                Arrays.fill(values, own + hvd.rank());
                handles.add(hvd.reducescatterAsync("rs.many." + own, Tensor.of(values), SUM));
            }
            for (int i = 0; i < 20; i++) {
                int own = (i + 3 * hvd.rank()) % 20;
                assertThat(handles.get(i).synchronize().item()).isEqualTo(n * own + n * (n - 1) / 2f);
            }
            return null;
        });
    }

    @Test
    void reducescatterOfAScalarOrWithAnotherOperationIsRefusedAtTheCall() throws Exception {
        onAll(hvd -> {
            Tensor scalar = Tensor.wrap(new float[1], DType.FLOAT32, Shape.scalar());
            refused(() -> hvd.reducescatter("rs.scalar", scalar, SUM), "rs.scalar", "scalar");
            for (ReduceOp op : List.of(ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT, ReduceOp.ADASUM)) {
                refused(
                        () -> hvd.reducescatter("rs.op", Tensor.of(1f), AllreduceOptions.of(op)),
                        "rs.op",
                        op.name(),
                        "SUM or AVERAGE");
            }
            requireUsable(hvd, "rs.refused");
            return null;
        });
    }

    @Test
    void reduceGivesTheResultToTheRootOnly() throws Exception {
        onAll(hvd -> {
            for (int root = 0; root < hvd.size(); root++) {
                for (DType type : DType.values()) {
                    for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX)) {
                        String name = "reduce." + root + "." + type + "." + op;
                        Tensor input = Values.ramp(type, 7, hvd.rank());
                        Tensor result = hvd.reduce(name, input, AllreduceOptions.of(op), root);

                        if (hvd.rank() == root) {
                            assertThat(result.toFloatArray())
                                    .as(name)
                                    .isEqualTo(Values.expected(type, 7, hvd.size(), op));
                        } else {
                            assertThat(result).isNull();
                        }
                        assertThat(input.toFloatArray())
                                .isEqualTo(Values.ramp(type, 7, hvd.rank()).toFloatArray());
                    }
                }
            }
            return null;
        });
    }

    @Test
    void reduceAveragesScalesAndCarriesMoreThanAStage() throws Exception {
        onAll(hvd -> {
            int root = hvd.size() - 1;
            Tensor mean = hvd.reduce(
                    "reduce.mean",
                    Tensor.of((float) hvd.rank()),
                    AllreduceOptions.average().withPrescale(2).withPostscale(3),
                    root);
            Tensor large = hvd.reduce("reduce.large", Values.ramp(DType.FLOAT64, LARGE, hvd.rank()), SUM, root);
            if (hvd.rank() == root) {
                assertThat(mean.item()).isCloseTo(3 * (hvd.size() - 1f), ROUNDED);
                assertThat(large.toFloatArray())
                        .isEqualTo(Values.expected(DType.FLOAT64, LARGE, hvd.size(), ReduceOp.SUM));
            }
            return null;
        });
    }

    @Test
    void gatherBringsTheRowsOfAllRanksToTheRoot() throws Exception {
        onAll(hvd -> {
            for (int root = 0; root < hvd.size(); root++) {
                for (DType type : DType.values()) {
                    Tensor result = hvd.gather(
                            "gather." + root + "." + type, Values.rows(type, hvd.rank(), 3, hvd.rank()), root);
                    if (hvd.rank() == root) {
                        requireRowsOfAll(hvd, type, result);
                    } else {
                        assertThat(result).isNull();
                    }
                }
            }
            return null;
        });
    }

    private static void requireRowsOfAll(HvdContext hvd, DType type, Tensor result) {
        int n = hvd.size();
        assertThat(result.shape()).isEqualTo(Shape.of(n * (n - 1) / 2, 3));
        float[] all = result.toFloatArray();
        int at = 0;
        for (int rank = 0; rank < n; rank++) {
            float[] part = Values.rows(type, rank, 3, rank).toFloatArray();
            assertThat(Arrays.copyOfRange(all, at, at + part.length)).isEqualTo(part);
            at += part.length;
        }
    }

    @Test
    void gatherAndScatterCarryMoreThanAStage() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            int root = n - 1;
            Tensor all = hvd.gather("gather.large", Values.ramp(DType.FLOAT32, LARGE - hvd.rank(), hvd.rank()), root);
            if (hvd.rank() == root) {
                float[] values = all.toFloatArray();
                int at = 0;
                for (int rank = 0; rank < n; rank++) {
                    assertThat(values[at]).isEqualTo(Values.value(DType.FLOAT32, 0, rank));
                    at += LARGE - rank;
                    assertThat(values[at - 1]).isEqualTo(Values.value(DType.FLOAT32, LARGE - rank - 1, rank));
                }
                assertThat(values).hasSize(at);
            }
            Tensor part = hvd.scatter(
                    "scatter.large", hvd.rank() == root ? Values.ramp(DType.FLOAT32, LARGE, 1) : null, root);
            float[] whole = Values.ramp(DType.FLOAT32, LARGE, 1).toFloatArray();
            assertThat(part.toFloatArray())
                    .isEqualTo(Arrays.copyOfRange(whole, start(LARGE, n, hvd.rank()), start(LARGE, n, hvd.rank() + 1)));
            return null;
        });
    }

    @Test
    void scatterSharesTheRootsRows() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            for (int root = 0; root < n; root++) {
                for (DType type : DType.values()) {
                    for (int rows : new int[] {0, 1, 2 * n + 1}) {
                        Tensor given = hvd.rank() == root ? Values.rows(type, rows, 2, root) : null;
                        Tensor mine = hvd.scatter("scatter." + root + "." + type + "." + rows, given, root);
                        int first = start(rows, n, hvd.rank());
                        int last = start(rows, n, hvd.rank() + 1);

                        assertThat(mine.dtype()).isEqualTo(type);
                        assertThat(mine.shape()).isEqualTo(Shape.of(last - first, 2));
                        assertThat(mine.toFloatArray())
                                .isEqualTo(Arrays.copyOfRange(
                                        Values.rows(type, rows, 2, root).toFloatArray(), 2 * first, 2 * last));
                    }
                }
            }
            return null;
        });
    }

    @Test
    void rootsThatDoNotExistAreRefusedAtTheCall() throws Exception {
        onAll(hvd -> {
            int nobody = hvd.size();
            Tensor tensor = Tensor.of(1f);
            refused(() -> hvd.reduce("nobody.reduce", tensor, SUM, nobody), "nobody.reduce", "root rank " + nobody);
            refused(() -> hvd.gather("nobody.gather", tensor, -1), "nobody.gather", "root rank -1");
            refused(() -> hvd.scatter("nobody.scatter", tensor, nobody), "nobody.scatter", "root rank " + nobody);
            requireUsable(hvd, "nobody");
            return null;
        });
    }

    @Test
    void tensorsOfEveryTypeGoRoundTheRing() throws Exception {
        onAllOf(2, hvd -> {
            int next = (hvd.rank() + 1) % hvd.size();
            int before = (hvd.rank() + hvd.size() - 1) % hvd.size();
            for (DType type : DType.values()) {
                for (int size : new int[] {0, 1, 5_001}) {
                    Handle sent = hvd.sendAsync(Values.ramp(type, size, hvd.rank()), next, 1);
                    Tensor here = Tensor.zeros(type, Shape.of(size));
                    assertThat(hvd.receive(here, before, 1)).isSameAs(here);
                    sent.synchronize();
                    assertThat(here.toFloatArray())
                            .isEqualTo(Values.ramp(type, size, before).toFloatArray());
                }
            }
            return null;
        });
    }

    @Test
    void blockingTransfersOfMoreThanAStageGoThereAndBack() throws Exception {
        onAllOf(2, hvd -> {
            Tensor tensor = Values.ramp(DType.FLOAT32, LARGE, hvd.rank());
            if (hvd.rank() == 0) {
                hvd.send(tensor, 1, 0);
                hvd.receive(tensor, 1, 0);
                assertThat(tensor.toFloatArray())
                        .isEqualTo(Values.ramp(DType.FLOAT32, LARGE, 1).toFloatArray());
            } else if (hvd.rank() == 1) {
                Tensor other = Tensor.zeros(DType.FLOAT32, Shape.of(LARGE));
                hvd.receive(other, 0, 0);
                hvd.send(tensor, 0, 0);
                assertThat(other.toFloatArray())
                        .isEqualTo(Values.ramp(DType.FLOAT32, LARGE, 0).toFloatArray());
            }
            return null;
        });
    }

    @Test
    void transfersBetweenAllPairsInAnyOrderAreTakenApartByTheirTags() throws Exception {
        onAllOf(2, hvd -> {
            List<Handle> handles = new ArrayList<>();
            List<Tensor> received = new ArrayList<>();
            for (int tag = 0; tag < 3; tag++) {
                for (int peer = 0; peer < hvd.size(); peer++) {
                    int turned = hvd.rank() % 2 == 0 ? tag : 2 - tag;
                    if (peer != hvd.rank()) {
                        handles.add(hvd.sendAsync(Tensor.of(hvd.rank(), peer, turned), peer, turned));
                        Tensor here = Tensor.of(0, 0, 0);
                        received.add(here);
                        handles.add(hvd.receiveAsync(here, peer, turned));
                    }
                }
            }
            handles.forEach(Handle::synchronize);
            int at = 0;
            for (int tag = 0; tag < 3; tag++) {
                for (int peer = 0; peer < hvd.size(); peer++) {
                    if (peer != hvd.rank()) {
                        int turned = hvd.rank() % 2 == 0 ? tag : 2 - tag;
                        assertThat((int[]) received.get(at++).toArray()).containsExactly(peer, hvd.rank(), turned);
                    }
                }
            }
            return null;
        });
    }

    @Test
    void transfersToOneselfOrToNobodyAreRefusedAtTheCall() throws Exception {
        onAll(hvd -> {
            refused(() -> hvd.send(Tensor.of(1f), hvd.rank(), 0), "send", "this rank itself");
            refused(() -> hvd.receive(Tensor.of(1f), hvd.size(), 0), "receive", "rank " + hvd.size());
            requireUsable(hvd, "transfers");
            return null;
        });
    }

    private static void refused(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String... facts) {
        assertThatThrownBy(call).isInstanceOf(HvdException.class).hasMessageContainingAll(facts);
    }
}
