package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * The element types, dimensions and values of Horovod's own tests of its torch binding, where the other classes of the
 * contract ask with others: tensors of one, two and three dimensions, filled with the number of the rank, or with whole numbers
 * from -100 to 99. Every rank draws these alike, except for products, where each rank draws its own.
 */
public class HorovodContractTest extends Contract {
    private static final int SIDE = 17;
    private static final int GROUP = 5;
    private static final int SEED = 1_234;
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    private static final List<DType> REDUCED =
            List.of(DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64, DType.FLOAT16);

    private static final List<DType> MOVED = List.of(
            DType.UINT8,
            DType.INT8,
            DType.INT16,
            DType.INT32,
            DType.INT64,
            DType.FLOAT32,
            DType.FLOAT64,
            DType.FLOAT16);

    private interface Case {
        void of(DType type, Shape shape, String name);
    }

    /** Every type, with one, two and three dimensions of a length. */
    private static void forEach(List<DType> types, int side, Case body) {
        for (DType type : types) {
            for (int dimensions = 1; dimensions <= 3; dimensions++) {
                long[] sides = new long[dimensions];
                Arrays.fill(sides, side);
                body.of(type, Shape.of(sides), "horovod." + type + "." + dimensions);
            }
        }
    }

    /** From -100 to 99, the same numbers on every rank. */
    private static int[] drawn(Shape shape, int number) {
        return new Random(SEED + number).ints(shape.elements(), -100, 100).toArray();
    }

    private static Tensor tensor(DType type, Shape shape, int[] values) {
        return Values.tensor(type, shape, i -> values[i]);
    }

    private static Tensor filled(DType type, Shape shape, int value) {
        return Values.tensor(type, shape, i -> value);
    }

    private static List<Tensor> group(DType type, Shape shape, int number) {
        return IntStream.range(0, GROUP)
                .mapToObj(i -> tensor(type, shape, drawn(shape, number + i)))
                .toList();
    }

    private static void require(String what, Tensor found, DType type, Shape shape, IntUnaryOperator expected) {
        require(what, found, type, shape, expected, 0);
    }

    private static void require(
            String what, Tensor found, DType type, Shape shape, IntUnaryOperator expected, double relative) {
        assertThat(found.dtype()).as(what).isEqualTo(type);
        assertThat(found.shape()).as(what).isEqualTo(shape);
        float[] values = found.toFloatArray();
        for (int i = 0; i < values.length; i++) {
            int value = expected.applyAsInt(i);
            if (!(Math.abs(values[i] - value) <= Math.abs(value) * relative)) {
                throw new AssertionError(String.format(
                        Locale.ROOT, "%s: element %d of %s is %s, not %d", what, i, shape, values[i], value));
            }
        }
    }

    /** Up to three ranks, the reciprocal of their number is exact enough to give whole numbers back. */
    private static double tolerance(DType type, int ranks) {
        return type.isFloating() && ranks > 3 ? 1e-6 : 0;
    }

    @Test
    void theAverageOfWhatAllHaveIsWhatEachHas() throws Exception {
        onAll(hvd -> {
            forEach(REDUCED, SIDE, (type, shape, name) -> {
                int[] values = drawn(shape, 0);
                Tensor average = hvd.allreduce(name, tensor(type, shape, values), AllreduceOptions.average());
                require(name, average, type, shape, i -> values[i], tolerance(type, hvd.size()));
            });
            return null;
        });
    }

    /** The rank is the multiple of an offset of which the average is whole. */
    @Test
    void theAverageOfUnlikeTensorsIsInTheirMiddle() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            forEach(REDUCED, SIDE, (type, shape, name) -> {
                int[] values = drawn(shape, 0);
                Tensor mine = Values.tensor(type, shape, i -> values[i] + 2 * hvd.rank());
                Tensor average = hvd.allreduce(name, mine, AllreduceOptions.average());
                require(name, average, type, shape, i -> values[i] + n - 1, tolerance(type, n));
            });
            return null;
        });
    }

    @Test
    void productsAreThoseOfAllRanksTensors() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            List<DType> types = List.of(DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64);
            forEach(types, SIDE, (type, shape, name) -> {
                List<int[]> ofRanks = IntStream.range(0, n)
                        .mapToObj(rank -> drawn(shape, rank))
                        .toList();
                Tensor product = reduce(hvd, name, tensor(type, shape, ofRanks.get(hvd.rank())), ReduceOp.PRODUCT);
                assertThat(product.shape()).isEqualTo(shape);
                Object found = product.toArray();
                for (int i = 0; i < shape.elements(); i++) {
                    requireProduct(name, type, found, i, ofRanks);
                }
            });
            return null;
        });
    }

    /** Integers overflow as in Java; floats of more than three ranks are rounded in the order of the back end. */
    private static void requireProduct(String name, DType type, Object found, int index, List<int[]> ofRanks) {
        long whole = 1;
        double real = 1;
        for (int[] values : ofRanks) {
            whole *= values[index];
            real *= values[index];
        }
        boolean right =
                switch (type) {
                    case INT32 -> Array.getInt(found, index) == (int) whole;
                    case INT64 -> Array.getLong(found, index) == whole;
                    default ->
                        Math.abs(Array.getDouble(found, index) - real)
                                <= Math.abs(real) * tolerance(type, ofRanks.size());
                };
        assertThat(right)
                .as("%s: element %d is %s, not %s", name, index, Array.get(found, index), real)
                .isTrue();
    }

    @Test
    void everyRootsTensorReachesAllAndTheirOwnStays() throws Exception {
        onAllOf(2, hvd -> {
            forEach(MOVED, SIDE, (type, shape, name) -> {
                for (int root = 0; root < hvd.size(); root++) {
                    int expected = root;
                    Tensor mine = filled(type, shape, hvd.rank());
                    require(name, hvd.broadcast(name + "." + root, mine, root), type, shape, i -> expected);
                    require(name + " of which the input stays", mine, type, shape, i -> hvd.rank());
                }
            });
            return null;
        });
    }

    @Test
    void everyRootsTensorOverwritesAllOthers() throws Exception {
        onAllOf(2, hvd -> {
            forEach(MOVED, SIDE, (type, shape, name) -> {
                for (int root = 0; root < hvd.size(); root++) {
                    int expected = root;
                    Tensor mine = filled(type, shape, hvd.rank());
                    assertThat(hvd.broadcastInPlace(name + "." + root, mine, root))
                            .isSameAs(mine);
                    require(name, mine, type, shape, i -> expected);
                }
            });
            return null;
        });
    }

    /** None can be done while the other ranks still wait for the word of rank 0; then they go together. */
    @Test
    void allgathersInFlightTogetherArriveWhole() throws Exception {
        onAll(hvd -> {
            List<Handle> handles = new ArrayList<>();
            if (hvd.rank() > 0) {
                hvd.broadcast("horovod.go", Tensor.of(0f), 0);
            }
            forEach(
                    MOVED,
                    SIDE,
                    (type, shape, name) -> handles.add(hvd.allgatherAsync(name, filled(type, shape, hvd.rank()))));
            if (hvd.rank() == 0) {
                if (hvd.size() > 1) {
                    assertThat(handles).noneMatch(Handle::poll);
                }
                hvd.broadcast("horovod.go", Tensor.of(1f), 0);
            }
            var next = handles.iterator();
            forEach(
                    MOVED,
                    SIDE,
                    (type, shape, name) -> requireGathered(name, next.next().synchronize(), type, shape, hvd));
            return null;
        });
    }

    /** Each member's tensor is filled with its global rank. */
    private static void requireGathered(String name, Tensor gathered, DType type, Shape shape, ProcessSet set) {
        int each = Math.toIntExact(shape.elements());
        Shape whole = shape.withFirst(shape.dim(0) * set.size());
        require(name, gathered, type, whole, i -> set.ranks().get(i / each));
    }

    /** Ranks 0, 2, 4 and so on are a set, and the others are one; both are at work at the same time. */
    private void onEvenAndOdd(SetBody body) throws Exception {
        onAllOf(2, hvd -> {
            ProcessSet even = hvd.addProcessSet(everySecond(0, hvd));
            ProcessSet odd = hvd.addProcessSet(everySecond(1, hvd));
            body.on(even.included() ? even : odd, hvd.rank());
            hvd.removeProcessSet(odd);
            hvd.removeProcessSet(even);
            return null;
        });
    }

    private interface SetBody {
        void on(ProcessSet set, int globalRank);
    }

    private static List<Integer> everySecond(int first, HvdContext hvd) {
        return IntStream.range(0, hvd.size())
                .filter(rank -> rank % 2 == first)
                .boxed()
                .toList();
    }

    @Test
    void evenAndOddRanksGatherAmongThemselves() throws Exception {
        onEvenAndOdd((set, rank) -> forEach(
                MOVED,
                SIDE,
                (type, shape, name) ->
                        requireGathered(name, set.allgather(name, filled(type, shape, rank)), type, shape, set)));
    }

    @Test
    void evenAndOddRanksGatherGroupsAmongThemselves() throws Exception {
        onEvenAndOdd((set, rank) -> forEach(MOVED, SIDE, (type, shape, name) -> {
            List<Tensor> mine = IntStream.range(0, GROUP)
                    .mapToObj(i -> filled(type, shape, rank))
                    .toList();
            List<Tensor> gathered = set.groupedAllgather(name, mine);
            assertThat(gathered).hasSize(GROUP);
            gathered.forEach(one -> requireGathered(name, one, type, shape, set));
        }));
    }

    @Test
    void evenAndOddRanksSumGroupsAmongThemselves() throws Exception {
        onEvenAndOdd((set, rank) -> forEach(REDUCED, SIDE, (type, shape, name) -> {
            int number = 100 * (rank % 2);
            List<Tensor> sums = set.groupedAllreduce(name, group(type, shape, number), SUM);
            requireMultiples(name, sums, type, shape, number, set.size());
        }));
    }

    private static void requireMultiples(
            String name, List<Tensor> sums, DType type, Shape shape, int number, int ranks) {
        assertThat(sums).hasSize(GROUP);
        for (int tensor = 0; tensor < GROUP; tensor++) {
            int[] values = drawn(shape, number + tensor);
            require(name + "." + tensor, sums.get(tensor), type, shape, i -> values[i] * ranks);
        }
    }

    @Test
    void groupsAreSummedWhereTheyLie() throws Exception {
        onAll(hvd -> {
            forEach(REDUCED, SIDE, (type, shape, name) -> {
                List<Tensor> tensors = group(type, shape, 0);
                hvd.groupedAllreduceInPlace(name, tensors, SUM);
                requireMultiples(name, tensors, type, shape, 0, hvd.size());
            });
            return null;
        });
    }

    /** Every rank gets four rows of each tensor. */
    @Test
    void groupsAreAveragedAndScattered() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            forEach(REDUCED, 4 * n, (type, shape, name) -> {
                List<Tensor> parts = hvd.groupedReducescatter(name, group(type, shape, 0), AllreduceOptions.average());
                Shape own = shape.withFirst(4);
                int first = Math.toIntExact(hvd.rank() * shape.elements() / n);
                for (int tensor = 0; tensor < GROUP; tensor++) {
                    int[] values = drawn(shape, tensor);
                    Tensor part = parts.get(tensor);
                    require(name, part, type, own, i -> values[first + i], tolerance(type, n));
                }
                assertThat(parts).hasSize(GROUP);
            });
            return null;
        });
    }
}
