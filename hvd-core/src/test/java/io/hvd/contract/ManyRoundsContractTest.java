package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.AlltoallResult;
import io.hvd.Compression;
import io.hvd.HvdContext;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Pieces that go in many rounds and are not of one length: every element is looked at, and no two rounds are alike. */
public class ManyRoundsContractTest extends Contract {
    private static final List<DType> TYPES = List.of(DType.UINT8, DType.BFLOAT16, DType.FLOAT32, DType.INT64);

    /** More than the stage holds for each of two ranks. */
    private static final int LARGE_BYTES = 5 << 19;

    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    /** Values are below it, so that sums of eight ranks are exact in every type. */
    private static final int VALUES = 29;

    /** The places after which the values come again: no power of two, so that rounds of stages begin with unlike ones. */
    private static final int PERIOD = 251 * VALUES;

    /** The first values that rank 0 sends to itself; the others send the same, turned round. */
    private static final byte[] PATTERN = pattern();

    private static byte[] pattern() {
        byte[] pattern = new byte[PERIOD];
        for (int i = 0; i < PERIOD; i++) {
            pattern[i] = (byte) ((i * 31 + i / 251) % VALUES);
        }
        return pattern;
    }

    private static int value(int from, int to, int index) {
        return (PATTERN[index % PERIOD] + from * 17 + to * 5) % VALUES;
    }

    private static int large(DType type) {
        return LARGE_BYTES / type.bytes() + 7;
    }

    /** Every length comes up on some rank, whatever the number of ranks. */
    private static int length(DType type, int number) {
        return new int[] {large(type), 0, 1, large(type) / 3 + 5}[number % 4];
    }

    private static Tensor tensor(DType type, int from, int... counts) {
        Object all = array(type, Arrays.stream(counts).sum());
        int at = 0;
        for (int to = 0; to < counts.length; to++) {
            int receiver = to;
            repeat(type, i -> value(from, receiver, i), all, at, counts[to]);
            at += counts[to];
        }
        Tensor array = Tensor.wrap(all, type, Shape.of(at));
        return from % 2 == 0 ? array : direct(array);
    }

    private static Object array(DType type, int length) {
        return Array.newInstance(type.arrayType().getComponentType(), length);
    }

    /** Copies one period to a place in an array, again and again; a loop over all elements would take most of the test. */
    private static void repeat(DType type, IntUnaryOperator valueAt, Object array, int at, int count) {
        int done = Math.min(count, PERIOD);
        Object first = Values.tensor(type, Shape.of(done), valueAt).toArray();
        System.arraycopy(first, 0, array, at, done);
        while (done < count) {
            int more = Math.min(done, count - done);
            System.arraycopy(array, at, array, at + done, more);
            done += more;
        }
    }

    private static Tensor direct(Tensor array) {
        ByteBuffer memory = ByteBuffer.allocateDirect(Math.toIntExact(array.bytes()));
        Tensor direct = Tensor.wrap(memory.order(ByteOrder.nativeOrder()), array.dtype(), array.shape());
        direct.copyFrom(array);
        return direct;
    }

    /** @param counts of elements from each rank */
    private static Object arrived(DType type, int to, int... counts) {
        Object all = array(type, Arrays.stream(counts).sum());
        int at = 0;
        for (int from = 0; from < counts.length; from++) {
            int sender = from;
            repeat(type, i -> value(sender, to, i), all, at, counts[from]);
            at += counts[from];
        }
        return all;
    }

    @Test
    void allgatherOfPartsOfUnlikeLengthBringsEveryElement() throws Exception {
        onAll(hvd -> {
            for (DType type : TYPES) {
                for (int shift = 0; shift < 4; shift++) {
                    int first = shift;
                    int[] counts = IntStream.range(0, hvd.size())
                            .map(rank -> length(type, rank + first))
                            .toArray();
                    String name = "rounds.gather." + type + "." + shift;
                    Tensor all = hvd.allgather(name, tensor(type, hvd.rank(), counts[hvd.rank()]));
                    assertThat(all.toArray()).as(name).isEqualTo(arrived(type, 0, counts));
                }
            }
            return null;
        });
    }

    @Test
    void alltoallOfPartsOfUnlikeLengthBringsEveryElement() throws Exception {
        onAll(hvd -> {
            int self = hvd.rank();
            for (DType type : TYPES) {
                for (int shift = 0; shift < 4; shift++) {
                    int first = shift;
                    int[] sent = IntStream.range(0, hvd.size())
                            .map(to -> length(type, self + 3 * to + first))
                            .toArray();
                    int[] received = IntStream.range(0, hvd.size())
                            .map(from -> length(type, from + 3 * self + first))
                            .toArray();
                    String name = "rounds.alltoall." + type + "." + shift;
                    AlltoallResult result = hvd.alltoall(name, tensor(type, self, sent), sent);
                    assertThat(result.output().toArray()).as(name).isEqualTo(arrived(type, self, received));
                }
            }
            return null;
        });
    }

    @Test
    void reducescatterOfRowsThatDoNotDivideSumsEveryElement() throws Exception {
        onAll(hvd -> {
            for (DType type : TYPES) {
                requireSums(hvd, type, SUM);
            }
            requireSums(hvd, DType.FLOAT32, SUM.withCompression(Compression.FP16));
            return null;
        });
    }

    private static void requireSums(HvdContext hvd, DType type, AllreduceOptions options) {
        int size = hvd.size();
        int rank = hvd.rank();
        int rows = large(type) * size + size - 1;
        String name = "rounds.scatter." + type + "." + options.compression();
        Tensor mine = hvd.reducescatter(name, tensor(type, rank, rows), options);
        int first = large(type) * rank + Math.min(rank, size - 1);
        int length = large(type) + (rank < size - 1 ? 1 : 0);
        Object expected = array(type, length);
        IntUnaryOperator sumAt = i ->
                IntStream.range(0, size).map(from -> value(from, 0, first + i)).sum();
        repeat(type, sumAt, expected, 0, length);
        assertThat(mine.toArray()).as(name).isEqualTo(expected);
    }
}
