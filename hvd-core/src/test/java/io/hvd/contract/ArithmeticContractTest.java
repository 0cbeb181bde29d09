package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.testing.PlainLoop;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Every reduction of every type against a plain loop, with values that overflow. */
public class ArithmeticContractTest extends Contract {
    /** Around the widths of vectors, from one element of 8 bytes to four vectors of 64 single bytes and a rest. */
    private static final int[] SIZES = {1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 127, 128, 129, 257, 300};

    private static final List<ReduceOp> OPS =
            List.of(ReduceOp.SUM, ReduceOp.AVERAGE, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT);

    private static final List<DType> INTEGERS =
            List.of(DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32, DType.INT64);

    private interface Case {
        void of(DType type, ReduceOp op);
    }

    private static void forEveryTypeAndOperation(List<ReduceOp> ops, Case body) {
        for (DType type : DType.values()) {
            for (ReduceOp op : ops) {
                if (type.refuses(op).isEmpty()) {
                    body.of(type, op);
                }
            }
        }
    }

    @Test
    void anAllreduceOfAnySizeComesToWhatAPlainLoopComesTo() throws Exception {
        onAll(hvd -> {
            forEveryTypeAndOperation(OPS, (type, op) -> {
                for (int size : SIZES) {
                    allreduce(hvd, type, op, size);
                }
            });
            return null;
        });
    }

    /** Half of the ranks have it in an array, the others in a direct buffer. */
    private static void allreduce(ProcessSet set, DType type, ReduceOp op, int size) {
        int self = set.ranks().get(set.rank());
        boolean direct = (self + size) % 2 == 0;
        Tensor tensor = PlainLoop.brought(type, op, Shape.of(size), self, direct);
        set.allreduceInPlace("loop." + type + "." + op, tensor, AllreduceOptions.of(op));
        PlainLoop.requireEqual(
                op + " of " + type + " on " + set.ranks(), tensor, PlainLoop.reduced(type, op, set.ranks(), size));
    }

    @Test
    void aGroupOfAllSizesComesToWhatAPlainLoopComesTo() throws Exception {
        onAll(hvd -> {
            forEveryTypeAndOperation(OPS, (type, op) -> {
                List<Tensor> inputs = Arrays.stream(SIZES)
                        .mapToObj(size -> PlainLoop.brought(type, op, Shape.of(size), hvd.rank(), size % 2 == 0))
                        .toList();
                List<Tensor> results = hvd.groupedAllreduce("loop.group", inputs, AllreduceOptions.of(op));
                for (int i = 0; i < SIZES.length; i++) {
                    PlainLoop.requireEqual(
                            op + " of " + type + " in a group",
                            results.get(i),
                            PlainLoop.reduced(type, op, hvd.ranks(), SIZES[i]));
                }
            });
            return null;
        });
    }

    @Test
    void aLargeAllreduceComesToWhatAPlainLoopComesTo() throws Exception {
        onAll(hvd -> {
            forEveryTypeAndOperation(OPS, (type, op) -> allreduce(hvd, type, op, 17_001));
            return null;
        });
    }

    @Test
    void reducescatterAndReduceComeToWhatAPlainLoopComesTo() throws Exception {
        onAll(hvd -> {
            for (int rows : new int[] {1, 65, 300}) {
                scatterAndReduce(hvd, rows);
            }
            return null;
        });
    }

    private static void scatterAndReduce(ProcessSet set, int rows) {
        int self = set.ranks().get(set.rank());
        int root = set.ranks().get(set.size() - 1);
        forEveryTypeAndOperation(List.of(ReduceOp.SUM, ReduceOp.AVERAGE), (type, op) -> {
            Tensor input = PlainLoop.brought(type, op, Shape.of(rows), self, rows % 2 == 0);
            Tensor found = set.reducescatter("loop.rs." + type + "." + op, input, AllreduceOptions.of(op));
            long[] all = PlainLoop.reduced(type, op, set.ranks(), rows);
            int first = rows / set.size() * set.rank() + Math.min(set.rank(), rows % set.size());
            long[] mine = Arrays.copyOfRange(all, first, first + Math.toIntExact(found.elements()));
            PlainLoop.requireEqual("reducescatter, " + op + " of " + type + " on " + set.ranks(), found, mine);
        });
        forEveryTypeAndOperation(OPS, (type, op) -> {
            Tensor input = PlainLoop.brought(type, op, Shape.of(rows), self, rows % 2 == 1);
            Tensor found = set.reduce("loop.reduce." + type + "." + op, input, AllreduceOptions.of(op), root);
            if (self == root) {
                long[] all = PlainLoop.reduced(type, op, set.ranks(), rows);
                PlainLoop.requireEqual("reduce, " + op + " of " + type + " on " + set.ranks(), found, all);
            }
        });
    }

    @Test
    void processSetsComeToWhatAPlainLoopComesTo() throws Exception {
        onAllOf(2, hvd -> {
            for (List<Integer> members : sets(hvd)) {
                ProcessSet set = hvd.addProcessSet(members);
                if (set.included()) {
                    forEveryTypeAndOperation(OPS, (type, op) -> {
                        for (int size : new int[] {17, 65, 300}) {
                            allreduce(set, type, op, size);
                        }
                    });
                    scatterAndReduce(set, 129);
                }
                hvd.removeProcessSet(set);
            }
            return null;
        });
    }

    /** The first and the last rank; all but the second; all but the first. */
    private static List<List<Integer>> sets(HvdContext hvd) {
        List<List<Integer>> sets = new ArrayList<>();
        int last = hvd.size() - 1;
        for (int without : new int[] {-1, 1, 0}) {
            List<Integer> members = IntStream.rangeClosed(0, last)
                    .filter(rank -> without < 0 ? rank == 0 || rank == last : rank != without)
                    .boxed()
                    .toList();
            if (members.size() < hvd.size() && !sets.contains(members)) {
                sets.add(members);
            }
        }
        return sets;
    }

    /** Beyond 2^53 a double has no place for every integer. */
    @Test
    void anAverageOfIntegersIsTheExactQuotientCutOff() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            long large = (1L << 62) / n;
            long[] mine = {large + 1, -large - 1, large - 1 + (hvd.rank() == 0 ? -1 : 0), 1, -1, 7L * hvd.rank()};
            long sevens = 7L * (n * (n - 1) / 2);
            Tensor average = hvd.allreduce("quotient", Tensor.of(mine), AllreduceOptions.average());
            assertThat((long[]) average.toArray())
                    .containsExactly(large + 1, -large - 1, ((large - 1) * n - 1) / n, 1, -1, sevens / n);
            return null;
        });
    }

    /** A factor multiplies in floating point and cuts off; the quotient of what comes out is exact and cut off again. */
    @Test
    void scaledAveragesOfIntegersAreCutOffAfterEachFactorAndDividedExactly() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            for (DType type : INTEGERS) {
                for (double prescale : new double[] {1, 3, 0.5}) {
                    for (double postscale : new double[] {1, 2, 0.3, n}) {
                        AllreduceOptions how = AllreduceOptions.average()
                                .withPrescale(prescale)
                                .withPostscale(postscale);
                        Tensor input = Values.tensor(type, Shape.of(9), i -> (i + hvd.rank()) % 4);
                        String name = "scaled." + type + "." + prescale + "." + postscale;
                        float[] expected = new float[9];
                        for (int i = 0; i < expected.length; i++) {
                            long sum = 0;
                            for (int rank = 0; rank < n; rank++) {
                                sum += (long) ((i + rank) % 4 * prescale);
                            }
                            expected[i] = (long) (sum * postscale) / n;
                        }
                        assertThat(hvd.allreduce(name, input, how).toFloatArray())
                                .as(name)
                                .isEqualTo(expected);
                        float[] whole = hvd.allgather(name, hvd.reducescatter(name + ".rs", input, how))
                                .toFloatArray();
                        assertThat(whole).as(name).isEqualTo(expected);
                    }
                }
            }
            return null;
        });
    }
}
