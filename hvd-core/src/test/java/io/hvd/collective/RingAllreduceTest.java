package io.hvd.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.kernel.Converter;
import io.hvd.kernel.FlatView;
import io.hvd.kernel.Reducer;
import io.hvd.spi.Collectives.Completion;
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
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks as threads, whose messages are counted. */
@Timeout(60)
class RingAllreduceTest {
    private static final int STAGE = 64 << 10;
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

    private interface Body<T> {
        T run(int rank, RingAllreduce ring);
    }

    private static <T> List<T> onAll(int ranks, Body<T> body) throws Exception {
        return onAll(new SimulatedNetwork(ranks), ranks, STAGE, body);
    }

    private static <T> List<T> onAll(SimulatedNetwork network, int ranks, int stageBytes, Body<T> body)
            throws Exception {
        List<CompletableFuture<T>> running = new ArrayList<>();
        for (int i = 0; i < ranks; i++) {
            int rank = i;
            running.add(CompletableFuture.supplyAsync(
                    () -> body.run(
                            rank,
                            new RingAllreduce(
                                    network.of(rank), NetworkWait.of(ranks), rank, ranks, stageBytes, new Reducer())),
                    task -> new Thread(task, "ring-rank").start()));
        }
        List<T> results = new ArrayList<>();
        for (CompletableFuture<T> rank : running) {
            results.add(rank.get(50, TimeUnit.SECONDS));
        }
        return results;
    }

    /** Different on every rank; any bits of the type, but small floats, and of a bool 0 and 1. */
    private static ByteBuffer values(DType type, int elements, int rank) {
        Random random = new Random(1000L * rank + elements);
        ByteBuffer values = direct(elements * type.bytes());
        for (int i = 0; i < elements; i++) {
            int at = i * type.bytes();
            float small = random.nextFloat() - 0.5f;
            switch (type) {
                case FLOAT32 -> values.putFloat(at, small);
                case FLOAT64 -> values.putDouble(at, small / 3.0);
                case FLOAT16 -> values.putShort(at, HalfFloat.toFloat16(small));
                case BFLOAT16 -> values.putShort(at, HalfFloat.toBfloat16(small));
                case INT64 -> values.putLong(at, random.nextLong());
                case INT32 -> values.putInt(at, random.nextInt());
                case INT16, UINT16 -> values.putShort(at, (short) random.nextInt());
                case INT8, UINT8 -> values.put(at, (byte) random.nextInt());
                case BOOL -> values.put(at, (byte) random.nextInt(2));
            }
        }
        return values;
    }

    private static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    private static ByteBuffer inRankOrder(DType type, ReduceOp op, int elements, int ranks) {
        List<ByteBuffer> all = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            all.add(values(type, elements, rank));
        }
        ByteBuffer expected = direct(elements * type.bytes());
        new Reducer().reduce(op, type, all, 0, elements, expected);
        return expected;
    }

    private static ByteBuffer reduced(RingAllreduce ring, ByteBuffer values, int elements, Reduction how) {
        ring.run(new AllreduceData.InPlace(values, how.wire().bytes()), elements, how);
        return values;
    }

    /** No element, one, less than ranks, one chunk and many with a rest. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void everyTypeAndOperatorIsReducedToTheSameBitsOnAllRanks(int ranks) throws Exception {
        List<List<ByteBuffer>> found = onAll(new SimulatedNetwork(ranks), ranks, 16 << 10, (rank, ring) -> {
            List<ByteBuffer> all = new ArrayList<>();
            forEachCase((how, elements) -> all.add(reduced(ring, values(how.wire(), elements, rank), elements, how)));
            return all;
        });
        Iterator<ByteBuffer> first = found.get(0).iterator();
        assertThat(found).allMatch(found.get(0)::equals);
        forEachCase((how, elements) -> {
            ByteBuffer here = first.next();
            if (isExact(how.wire(), how.op()) || how.wire().isHalf()) {
                assertThat(here)
                        .as("%d elements, %s", elements, how)
                        .isEqualTo(inRankOrder(how.wire(), how.op(), elements, ranks));
            }
        });
    }

    private static void forEachCase(BiConsumer<Reduction, Integer> body) {
        for (DType type : DType.values()) {
            for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT)) {
                for (int elements : new int[] {0, 1, 3, 20_001}) {
                    body.accept(new Reduction(op, type, 1, 1), elements);
                }
            }
        }
    }

    /** Floats are added in another order in each block; the others and 16-bit floats come to what one rank would find. */
    private static boolean isExact(DType type, ReduceOp op) {
        return !type.isFloating() || op == ReduceOp.MIN || op == ReduceOp.MAX;
    }

    @Test
    void aRankSendsNoMoreOfALargeTensorThanItMust() throws Exception {
        requireLeastBytesSent(3);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4})
    @Tag("long")
    void norDoesOneOfTwoOrFour(int ranks) throws Exception {
        requireLeastBytesSent(ranks);
    }

    private static void requireLeastBytesSent(int ranks) throws Exception {
        for (DType type : List.of(DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.INT8)) {
            for (int elements : new int[] {1_000_003, 2_097_152, 777_777}) {
                SimulatedNetwork network = new SimulatedNetwork(ranks);
                Reduction how = new Reduction(ReduceOp.SUM, type, 1, 1);
                onAll(
                        network,
                        ranks,
                        4 << 20,
                        (rank, ring) -> reduced(ring, values(type, elements, rank), elements, how));
                double least = 2.0 * (ranks - 1) / ranks * elements * type.bytes();
                for (int rank = 0; rank < ranks; rank++) {
                    assertThat((double) network.bytesSentBy(rank))
                            .as("rank %d of %d, %d x %s", rank, ranks, elements, type)
                            .isBetween(0.99 * least, 1.01 * least);
                }
            }
        }
    }

    /** What has been started, in its order; a message is gone at once, and none ever comes. */
    private static final class Started implements Transfers {
        private final List<String> all = new ArrayList<>();

        @Override
        public Transfer send(ByteBuffer bytes, int to, int tag) {
            all.add("send " + bytes.remaining());
            return () -> true;
        }

        @Override
        public Transfer receive(ByteBuffer bytes, int from, int tag) {
            all.add("receive " + bytes.remaining());
            return () -> false;
        }

        @Override
        public int fastestBytes() {
            return 100_000;
        }
    }

    /** Else it would come before anybody waits for it, and be copied. */
    @Test
    void theBlockOfTheLastStepHasItsPlaceWhileTheOtherRankStillAdds() {
        Started network = new Started();
        var ring = new RingAllreduce(network, NetworkWait.of(2), 0, 2, 1 << 20, new Reducer());
        Completion begun = ring.begin(direct(4000), 1000, SUM);
        assertThat(network.all).containsExactly("receive 2000", "send 2000");
        assertThat(begun.isDone()).isFalse();
        assertThat(begun.isDone()).isFalse();
        assertThat(network.all).containsExactly("receive 2000", "send 2000", "receive 2000");
    }

    /** Of messages of 100,000 bytes, the last two would have 10,000. */
    @Test
    void theMessagesOfATensorAreAboutEquallyLong() {
        Started network = new Started();
        var ring = new RingAllreduce(network, NetworkWait.of(2), 0, 2, 1 << 20, new Reducer());
        ring.begin(direct(1_020_000), 255_000, SUM);
        assertThat(network.all.stream().filter(one -> one.startsWith("send")).distinct())
                .containsExactly("send 85056", "send 84720");
    }

    /** One rank has its values in an array and scales them, the others in direct buffers. */
    @Test
    void tensorsThatAreCopiedMeetThoseThatAreReducedWhereTheyLie() throws Exception {
        int elements = 50_001;
        List<float[]> found = onAll(3, (rank, ring) -> {
            float[] array = new float[elements];
            for (int i = 0; i < elements; i++) {
                array[i] = (i % 100 + 1) * (rank + 1);
            }
            Converter converter = new Converter();
            Tensor tensor = Tensor.wrap(array, DType.FLOAT32, Shape.of(elements));
            if (rank == 1) {
                FlatView view = new FlatView(List.of(tensor), DType.FLOAT32, converter);
                ring.run(ring.packed(view, view, new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 0.5)), elements, SUM);
                return array;
            }
            ByteBuffer buffer = direct(elements * Float.BYTES);
            buffer.asFloatBuffer().put(array);
            reduced(ring, buffer, elements, SUM).asFloatBuffer().get(array);
            return array;
        });
        for (int i = 0; i < elements; i++) {
            assertThat(found.get(0)[i]).isEqualTo(6f * (i % 100 + 1));
            assertThat(found.get(1)[i]).isEqualTo(3f * (i % 100 + 1));
        }
    }

    @Test
    void severalMayBeUnderWay() throws Exception {
        int elements = 30_000;
        List<Boolean> right = onAll(3, (rank, ring) -> {
            List<ByteBuffer> all = new ArrayList<>();
            List<Completion> begun = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                all.add(values(DType.INT32, elements, rank));
                begun.add(ring.begin(all.get(i), elements, new Reduction(ReduceOp.SUM, DType.INT32, 1, 1)));
            }
            while (!begun.isEmpty()) {
                begun.removeIf(Completion::isDone);
            }
            return all.stream().allMatch(inRankOrder(DType.INT32, ReduceOp.SUM, elements, 3)::equals);
        });
        assertThat(right).containsExactly(true, true, true);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 5, 100_001})
    void aVetoIsHeardByAllAndWritesNothing(int elements) throws Exception {
        for (Reduction how : List.of(SUM, new Reduction(ReduceOp.PRODUCT, DType.FLOAT16, 1, 1))) {
            List<List<Boolean>> said = onAll(3, (rank, ring) -> {
                List<Boolean> agreed = new ArrayList<>();
                for (int round = 0; round < 6; round++) {
                    float[] array = new float[elements];
                    java.util.Arrays.fill(array, 2);
                    if (round % 2 == 0 && rank == round / 2) {
                        ring.veto(elements, how);
                        agreed.add(false);
                    } else {
                        Tensor tensor = Tensor.wrap(array, DType.FLOAT32, Shape.of(elements));
                        FlatView view = new FlatView(List.of(tensor), how.wire(), new Converter());
                        AllreduceData data = ring.packed(view, view, how);
                        agreed.add(ring.runUnlessVetoed(data, data, elements, how));
                        float expected = round % 2 == 0 ? 2 : how.op() == ReduceOp.SUM ? 6 : 8;
                        for (float value : array) {
                            assertThat(value).isEqualTo(expected);
                        }
                    }
                }
                return agreed;
            });
            assertThat(said).allMatch(List.of(false, true, false, true, false, true)::equals);
        }
    }
}
