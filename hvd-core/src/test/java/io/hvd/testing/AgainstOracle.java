package io.hvd.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.Collectives;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;

/**
 * Makes the same calls on two implementations, and compares what they come to bit by bit. All ranks make the same checks.
 *
 * @param oracle of the same ranks as {@code tested}
 * @param size number of ranks
 */
public record AgainstOracle(Collectives tested, Collectives oracle, int rank, int size) {
    /** The elements after which they come again: tensors have millions, and drawing all would take most of the test. */
    private static final int PERIOD = 10_007;

    static Tensor random(DType type, int elements, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Object array = Array.newInstance(type.arrayType().getComponentType(), elements);
        for (int i = 0; i < Math.min(elements, PERIOD); i++) {
            long bits = random.nextLong();
            int value = (int) bits & 3;
            float fraction = (bits >>> 40) * 0x1p-24f;
            switch (type) {
                case FLOAT32 -> ((float[]) array)[i] = fraction - 0.5f;
                case FLOAT64 -> ((double[]) array)[i] = (bits >>> 11) * 0x1p-53;
                case FLOAT16 -> ((short[]) array)[i] = HalfFloat.toFloat16(fraction);
                case BFLOAT16 -> ((short[]) array)[i] = HalfFloat.toBfloat16(fraction);
                case INT32 -> ((int[]) array)[i] = value - 2;
                case INT64 -> ((long[]) array)[i] = value - 2;
                case INT16, UINT16 -> ((short[]) array)[i] = (short) value;
                case INT8, UINT8 -> ((byte[]) array)[i] = (byte) value;
                case BOOL -> ((byte[]) array)[i] = (byte) (value & 1);
            }
        }
        for (int done = PERIOD; done < elements; done *= 2) {
            System.arraycopy(array, 0, array, done, Math.min(done, elements - done));
        }
        return Tensor.wrap(array, type, Shape.of(elements));
    }

    /** An allreduce of a batch of tensors, of which the inputs stay as they are. */
    public void allreduce(Reduction how, int[] sizes, DType type) {
        List<Tensor> inputs = new ArrayList<>();
        List<Object> brought = new ArrayList<>();
        List<Tensor> found = new ArrayList<>();
        List<Tensor> expected = new ArrayList<>();
        for (int i = 0; i < sizes.length; i++) {
            Tensor input = random(type, sizes[i], 31L * rank + i);
            inputs.add(input);
            brought.add(input.toArray());
            found.add(Tensor.zeros(type, input.shape()));
            expected.add(Tensor.zeros(type, input.shape()));
        }
        tested.allreduce(inputs, found, how);
        oracle.allreduce(inputs, expected, how);
        for (int i = 0; i < sizes.length; i++) {
            assertThat(found.get(i).toArray())
                    .as("%s %s", type, how)
                    .isEqualTo(expected.get(i).toArray());
            assertThat(inputs.get(i).toArray()).isEqualTo(brought.get(i));
        }
    }

    /** Sums that are exact in any order of adding. */
    public void sum(DType type, int[] sizes) {
        List<Tensor> inputs = new ArrayList<>();
        List<Tensor> found = new ArrayList<>();
        List<Tensor> expected = new ArrayList<>();
        for (int size : sizes) {
            Tensor whole = random(DType.INT8, size, 7L * size + rank);
            Tensor input = small(type, (byte[]) whole.toArray());
            inputs.add(input);
            found.add(Tensor.zeros(type, input.shape()));
            expected.add(Tensor.zeros(type, input.shape()));
        }
        Reduction how = new Reduction(ReduceOp.SUM, type, 1, 1);
        tested.allreduce(inputs, found, how);
        oracle.allreduce(inputs, expected, how);
        for (int i = 0; i < sizes.length; i++) {
            assertThat(found.get(i).toArray()).isEqualTo(expected.get(i).toArray());
        }
    }

    /** Element by element in plain loops: the tensors have millions, and reflection would take most of the test. */
    private static Tensor small(DType type, byte[] values) {
        Object array = Array.newInstance(type.arrayType().getComponentType(), values.length);
        for (int i = 0; i < values.length; i++) {
            switch (type) {
                case FLOAT32 -> ((float[]) array)[i] = values[i];
                case INT64 -> ((long[]) array)[i] = values[i];
                case INT8 -> ((byte[]) array)[i] = values[i];
                default -> throw new IllegalArgumentException("no small numbers of " + type);
            }
        }
        return Tensor.wrap(array, type, Shape.of(values.length));
    }

    /** Five rounds and more, of which two are under way at a time, for elements of one byte and of eight. */
    public void bigPieces() {
        long[] lengths = new long[size];
        Arrays.setAll(lengths, i -> 700_000 - 100_000L * i);
        long[] mine = {lengths[rank]};
        Tensor doubles = random(DType.FLOAT64, (int) lengths[rank], rank);
        both(DType.FLOAT64, lengths, (data, output) -> data.allgather(doubles, output, lengths));

        Tensor some = random(DType.INT8, (int) Arrays.stream(lengths).sum(), rank);
        Tensor all = small(DType.INT64, (byte[]) some.toArray());
        Reduction sum = new Reduction(ReduceOp.SUM, DType.INT64, 1, 1);
        both(DType.INT64, mine, (data, output) -> data.reduceScatter(all, output, lengths, sum));

        long[] many = Arrays.stream(lengths).map(length -> 3 * length).toArray();
        Tensor bytes = random(DType.UINT8, (int) many[rank], rank);
        both(DType.UINT8, many, (data, output) -> data.allgather(bytes, output, many));
    }

    /** A broadcast in many rounds, to other tensors and to the same. */
    public void bigBroadcast() {
        Tensor shown = random(DType.FLOAT32, 2_500_000, rank);
        long[] whole = {shown.elements()};
        both(whole, (data, output) -> data.broadcast(List.of(shown), List.of(output), 1));
        tested.broadcast(List.of(shown), List.of(shown), size - 1);
        assertThat(shown.toArray())
                .isEqualTo(random(DType.FLOAT32, 2_500_000, size - 1).toArray());
    }

    /**
     * Every collective but allreduce, with pieces of all lengths, none among them.
     *
     * @param most number of elements of the longest piece in one of three calls; the others have fewer
     */
    public void movement(int seed, int most) {
        int limit = List.of(50, most / 7, most).get(seed % 3);
        Random random = new Random(seed);
        long[][] sent = new long[size][size];
        for (long[] row : sent) {
            Arrays.setAll(row, i -> random.nextInt(3) == 0 ? 0 : random.nextInt(limit));
        }
        long[] mine = sent[rank];
        long[] received = Arrays.stream(sent).mapToLong(row -> row[rank]).toArray();
        long longest = Arrays.stream(sent).flatMapToLong(Arrays::stream).max().orElse(0);
        Tensor input = random(DType.FLOAT32, (int) Arrays.stream(mine).sum(), seed * 100L + rank);
        both(received, (data, output) -> data.alltoall(input, output, mine, received, longest));

        long[] lengths = sent[size - 1];
        Tensor own = random(DType.INT16, (int) lengths[rank], seed * 100L + rank);
        both(DType.INT16, lengths, (data, output) -> data.allgather(own, output, lengths));

        long[] share = {lengths[rank]};
        // Exact in every order of adding.
        Tensor some = random(DType.INT8, (int) Arrays.stream(lengths).sum(), seed * 100L + rank);
        Tensor all = small(DType.FLOAT32, (byte[]) some.toArray());
        Reduction how = new Reduction(ReduceOp.SUM, DType.FLOAT16, 0.5, 0.25);
        both(share, (data, output) -> data.reduceScatter(all, output, lengths, how));

        int root = seed % size;
        long[] whole = {longest};
        Tensor shown = random(DType.FLOAT32, (int) longest, seed * 100L + rank);
        both(whole, (data, output) -> data.broadcast(List.of(shown), List.of(output), root));

        both(lengths, (data, output) -> data.reduce(all, rank == root ? output : null, how, root));
        long[] gathered = rank == root ? lengths : new long[] {0};
        both(DType.INT16, gathered, (data, output) -> data.gather(own, rank == root ? output : null, lengths, root));
        both(share, (data, output) -> data.scatter(rank == root ? all : null, output, lengths, root));
    }

    private interface Call {
        void make(Collectives data, Tensor output);
    }

    private void both(long[] lengths, Call call) {
        both(DType.FLOAT32, lengths, call);
    }

    private void both(DType type, long[] lengths, Call call) {
        Shape shape = Shape.of(Arrays.stream(lengths).sum());
        Tensor found = Tensor.zeros(type, shape);
        Tensor expected = Tensor.zeros(type, shape);
        call.make(tested, found);
        call.make(oracle, expected);
        assertThat(found.toArray()).isEqualTo(expected.toArray());
    }
}
