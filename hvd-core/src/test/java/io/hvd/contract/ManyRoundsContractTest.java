package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.AlltoallResult;
import io.hvd.Compression;
import io.hvd.HvdContext;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Pieces that go in many rounds and are not of one length: every element is looked at, and no two rounds are alike. */
class ManyRoundsContractTest extends Contract {
    private static final List<DType> TYPES = List.of(DType.UINT8, DType.BFLOAT16, DType.FLOAT32, DType.INT64);

    /** More than the stage holds for each of two ranks. */
    private static final int LARGE_BYTES = 5 << 19;

    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    /** Values are below it, so that sums of eight ranks are exact in every type. */
    private static final int VALUES = 29;

    /** The first values that rank 0 sends to itself; the others send the same, turned round. */
    private static final byte[] PATTERN = pattern(9 * LARGE_BYTES);

    private static byte[] pattern(int length) {
        byte[] pattern = new byte[length];
        int period = 251 * VALUES;
        for (int i = 0; i < period; i++) {
            pattern[i] = (byte) ((i * 31 + i / 251) % VALUES);
        }
        for (int done = period; done < length; done *= 2) {
            System.arraycopy(pattern, 0, pattern, done, Math.min(done, length - done));
        }
        return pattern;
    }

    private static int value(int from, int to, int index) {
        int turned = PATTERN[index] + (from * 17 + to * 5) % VALUES;
        return turned < VALUES ? turned : turned - VALUES;
    }

    private static int large(DType type) {
        return LARGE_BYTES / type.bytes() + 7;
    }

    /** Every length comes up on some rank, whatever the number of ranks. */
    private static int length(DType type, int number) {
        return new int[] {large(type), 0, 1, large(type) / 3 + 5}[number % 4];
    }

    private static Tensor tensor(DType type, int from, int... counts) {
        int[] values = new int[Arrays.stream(counts).sum()];
        int at = 0;
        for (int to = 0; to < counts.length; to++) {
            for (int i = 0; i < counts[to]; i++) {
                values[at++] = value(from, to, i);
            }
        }
        Tensor array = Values.tensor(type, Shape.of(values.length), i -> values[i]);
        return from % 2 == 0 ? array : direct(array);
    }

    private static Tensor direct(Tensor array) {
        ByteBuffer memory = ByteBuffer.allocateDirect(Math.toIntExact(array.bytes()));
        Tensor direct = Tensor.wrap(memory.order(ByteOrder.nativeOrder()), array.dtype(), array.shape());
        direct.copyFrom(array);
        return direct;
    }

    /** @param counts of elements from each rank */
    private static float[] arrived(int to, int... counts) {
        float[] all = new float[Arrays.stream(counts).sum()];
        int at = 0;
        for (int from = 0; from < counts.length; from++) {
            for (int i = 0; i < counts[from]; i++) {
                all[at++] = value(from, to, i);
            }
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
                    assertThat(all.toFloatArray()).as(name).isEqualTo(arrived(0, counts));
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
                    assertThat(result.output().toFloatArray()).as(name).isEqualTo(arrived(self, received));
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
        float[] expected = new float[large(type) + (rank < size - 1 ? 1 : 0)];
        for (int i = 0; i < expected.length; i++) {
            for (int from = 0; from < size; from++) {
                expected[i] += value(from, 0, first + i);
            }
        }
        assertThat(mine.toFloatArray()).as(name).isEqualTo(expected);
    }
}
