package io.hvd.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.kernel.Converter;
import io.hvd.kernel.Reducer;
import io.hvd.spi.Reduction;
import io.hvd.spi.Transfers;
import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Ranks as threads, whose messages are taken late from where they lie: a place that is used again too early shows. Arrays
 * and direct buffers, as they come.
 */
@Timeout(60)
class PipelinedMovementTest {
    private static final int STAGE_BYTES = 4096;
    private static final int LONG = 5_003;

    private record Rank(PipelinedMovement movement, int number, int size) {}

    private interface Body {
        void run(Rank rank) throws Exception;
    }

    private static void onAll(SimulatedNetwork network, int size, Body body) throws Exception {
        List<CompletableFuture<Void>> running = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            Rank rank = rank(network.of(i), i, size);
            CompletableFuture<Void> done = new CompletableFuture<>();
            running.add(done);
            new Thread(
                            () -> {
                                try {
                                    body.run(rank);
                                    done.complete(null);
                                } catch (Throwable e) {
                                    done.completeExceptionally(e);
                                }
                            },
                            "piped-rank")
                    .start();
        }
        for (CompletableFuture<Void> rank : running) {
            rank.get(50, TimeUnit.SECONDS);
        }
    }

    private static Rank rank(Transfers transfers, int number, int size) {
        Stage stage = new Stage(number, size, STAGE_BYTES);
        RingPosition position = new RingPosition(transfers, number, size, 9);
        return new Rank(
                new PipelinedMovement(
                        stage,
                        position,
                        NetworkWait.of(size),
                        new StageReduction(new ExchangedBytes(position, NetworkWait.of(size)), stage, new Reducer()),
                        new Converter()),
                number,
                size);
    }

    private static float value(int from, int to, long index) {
        return (index * 31 + index / 64 + from * 17 + to * 5) % 61;
    }

    /** Some are longer than a stage, some are empty; all come up between any two ranks. */
    private static long length(int number) {
        return new long[] {LONG, 0, 1, 700}[number % 4];
    }

    private static Tensor empty(DType type, long count, boolean direct) {
        if (!direct) {
            return Tensor.zeros(type, Shape.of(count));
        }
        ByteBuffer memory = ByteBuffer.allocateDirect((int) count * type.bytes());
        return Tensor.wrap(memory.order(ByteOrder.nativeOrder()), type, Shape.of(count));
    }

    private static Tensor tensor(DType type, boolean direct, float... values) {
        Tensor array =
                switch (type) {
                    case FLOAT32 -> Tensor.of(values);
                    case FLOAT16 -> halves(values);
                    default -> throw new IllegalArgumentException("no values of " + type);
                };
        Tensor tensor = empty(type, values.length, direct);
        tensor.copyFrom(array);
        return tensor;
    }

    private static Tensor halves(float... values) {
        short[] halves = new short[values.length];
        for (int i = 0; i < halves.length; i++) {
            halves[i] = HalfFloat.toFloat16(values[i]);
        }
        return Tensor.wrap(halves, DType.FLOAT16, Shape.of(halves.length));
    }

    private static float[] leaving(int from, long... counts) {
        float[] values = new float[(int) LongStream.of(counts).sum()];
        int at = 0;
        for (int to = 0; to < counts.length; to++) {
            for (int i = 0; i < counts[to]; i++) {
                values[at++] = value(from, to, i);
            }
        }
        return values;
    }

    private static float[] coming(int to, long... counts) {
        float[] values = new float[(int) LongStream.of(counts).sum()];
        int at = 0;
        for (int from = 0; from < counts.length; from++) {
            for (int i = 0; i < counts[from]; i++) {
                values[at++] = value(from, to, i);
            }
        }
        return values;
    }

    /** The ranks may hold theirs in unlike memory. */
    private static boolean isDirect(int number) {
        return number / 2 % 2 == 0;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void allgatherBringsEveryRankAllPieces(int size) throws Exception {
        onAll(new SimulatedNetwork(size), size, rank -> {
            for (int turn = 0; turn < 8; turn++) {
                int shift = turn;
                DType type = turn % 2 == 0 ? DType.FLOAT32 : DType.FLOAT16;
                long[] counts = IntStream.range(0, size)
                        .mapToLong(from -> length(from + shift))
                        .toArray();
                Tensor input = tensor(type, isDirect(turn + rank.number()), coming(0, only(rank.number(), counts)));
                Tensor output = empty(type, LongStream.of(counts).sum(), isDirect(turn + 2 * rank.number()));
                rank.movement().allgather(input, output, counts);
                assertThat(output.toFloatArray()).isEqualTo(coming(0, counts));
            }
        });
    }

    private static long[] only(int rank, long... counts) {
        long[] only = new long[counts.length];
        only[rank] = counts[rank];
        return only;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void alltoallBringsEveryRankWhatIsMeantForIt(int size) throws Exception {
        onAll(new SimulatedNetwork(size), size, rank -> {
            int self = rank.number();
            for (int turn = 0; turn < 8; turn++) {
                int shift = turn;
                DType type = turn % 2 == 0 ? DType.FLOAT32 : DType.FLOAT16;
                long[] sent = IntStream.range(0, size)
                        .mapToLong(to -> length(self + 3 * to + shift))
                        .toArray();
                long[] received = IntStream.range(0, size)
                        .mapToLong(from -> length(from + 3 * self + shift))
                        .toArray();
                Tensor input = tensor(type, isDirect(turn + self), leaving(self, sent));
                Tensor output = empty(type, LongStream.of(received).sum(), isDirect(turn + 2 * self));
                rank.movement().alltoall(input, output, sent, received, LONG);
                assertThat(output.toFloatArray()).isEqualTo(coming(self, received));
            }
        });
    }

    /** Scaled and converted on the way, or as it lies; the input stays as it is. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void reduceScatterLeavesEveryRankItsPieceOfTheSum(int size) throws Exception {
        onAll(new SimulatedNetwork(size), size, rank -> {
            for (int turn = 0; turn < 8; turn++) {
                int shift = turn;
                DType wire = turn % 2 == 0 ? DType.FLOAT32 : DType.FLOAT16;
                double prescale = turn % 4 < 2 ? 1 : 2;
                long[] counts = IntStream.range(0, size)
                        .mapToLong(to -> length(to + shift))
                        .toArray();
                float[] values = leaving(rank.number(), counts);
                Tensor input = tensor(DType.FLOAT32, isDirect(turn + rank.number()), values);
                long mine = counts[rank.number()];
                Tensor output = empty(DType.FLOAT32, mine, isDirect(turn + 2 * rank.number()));
                Reduction how = new Reduction(ReduceOp.SUM, wire, prescale, 0.5);
                rank.movement().reduceScatter(input, output, counts, how);
                assertThat(output.toFloatArray())
                        .isEqualTo(sums(rank.number(), size, (int) mine, (float) (prescale / 2)));
                assertThat(input.toFloatArray()).isEqualTo(values);
            }
        });
    }

    private static float[] sums(int to, int size, int count, float scale) {
        float[] sums = new float[count];
        for (int i = 0; i < count; i++) {
            for (int from = 0; from < size; from++) {
                sums[i] += value(from, to, i);
            }
            sums[i] *= scale;
        }
        return sums;
    }

    /** One rank after the other is added, with a float32 accumulator: halves of 2048 and thrice 1 would be 2048. */
    @Test
    void halvesAreRoundedOnce() throws Exception {
        int size = 4;
        onAll(new SimulatedNetwork(size), size, rank -> {
            float[] values = new float[size * LONG];
            Arrays.fill(values, rank.number() == 0 ? 2048 : 1);
            long[] counts = new long[size];
            Arrays.fill(counts, LONG);
            Tensor output = empty(DType.FLOAT16, LONG, false);
            rank.movement()
                    .reduceScatter(
                            tensor(DType.FLOAT16, isDirect(rank.number()), values),
                            output,
                            counts,
                            new Reduction(ReduceOp.SUM, DType.FLOAT16, 1, 1));
            assertThat(output.toFloatArray()).containsOnly(2052);
        });
    }

    /** Its messages are on their way at once, none comes back with elements, and the other rank's memory is not to fill. */
    @Test
    void aRankThatOnlySendsDoesNotRunAheadOfOneThatIsLate() throws Exception {
        SimulatedNetwork network = new SimulatedNetwork(2);
        AtomicInteger asked = new AtomicInteger();
        Rank sender = rank(eager(network.of(0), asked), 0, 2);
        long[] counts = {LONG, 0};
        CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> {
            Tensor all = empty(DType.FLOAT32, LONG, true);
            sender.movement().allgather(tensor(DType.FLOAT32, true, coming(0, counts)), all, counts);
        });
        while (asked.get() < 100 && !sending.isDone()) {
            Thread.onSpinWait();
        }
        assertThat(network.bytesSentBy(0)).isLessThanOrEqualTo(STAGE_BYTES);
        Tensor output = empty(DType.FLOAT32, LONG, false);
        rank(network.of(1), 1, 2).movement().allgather(empty(DType.FLOAT32, 0, false), output, counts);
        sending.get(50, TimeUnit.SECONDS);
        assertThat(output.toFloatArray()).isEqualTo(coming(0, counts));
    }

    /** What is sent is done with at once. @param asked how often what is received was not there */
    private static Transfers eager(Transfers transfers, AtomicInteger asked) {
        return new Transfers() {
            @Override
            public int fastestBytes() {
                return transfers.fastestBytes();
            }

            @Override
            public Transfer send(ByteBuffer bytes, int to, int tag) {
                ByteBuffer copy = ByteBuffer.allocateDirect(bytes.remaining());
                transfers.send(copy.put(bytes.duplicate()).flip(), to, tag);
                return () -> true;
            }

            @Override
            public Transfer receive(ByteBuffer bytes, int from, int tag) {
                Transfer inner = transfers.receive(bytes, from, tag);
                return () -> {
                    boolean done = inner.isDone();
                    asked.addAndGet(done ? 0 : 1);
                    return done;
                };
            }
        };
    }
}
