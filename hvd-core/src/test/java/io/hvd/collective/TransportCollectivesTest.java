package io.hvd.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.MpiSettings.AllreduceAlgorithm;
import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.ByteCollectives;
import io.hvd.spi.Reduction;
import io.hvd.spi.Transfers;
import io.hvd.spi.Transport;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a rank carries out an allreduce by the ring: two ranks as threads, whose messages and sums are looked at. */
@Timeout(60)
class TransportCollectivesTest {
    private static final int ELEMENTS = 200_000;
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

    /** Only the question whether all ranks agree is packed, before which no rank may write its result. */
    @Test
    void whatFollowsTheQuestionWhetherAllAgreeIsSentFromTheTensorItself() throws Exception {
        for (Rank rank : bothAfter(Call.UNLESS_VETOED)) {
            assertThat(rank.sentFromTensor.subList(0, 2)).containsExactly(false, false);
            assertThat(rank.sentFromTensor.subList(2, rank.sentFromTensor.size()))
                    .containsOnly(true);
            assertThat(rank.sentFromTensor.size()).isGreaterThan(4);
        }
    }

    @Test
    void theRingAddsByTheKernelOfTheTransport() throws Exception {
        for (Rank rank : bothAfter(Call.PLAIN)) {
            assertThat(rank.kernel.added).isBetween(ELEMENTS / 2 - 1, ELEMENTS / 2 + 1);
        }
    }

    private enum Call {
        PLAIN,
        UNLESS_VETOED
    }

    /** @return both ranks, whose sums are right */
    private static List<Rank> bothAfter(Call call) throws Exception {
        SimulatedNetwork network = new SimulatedNetwork(2);
        List<Rank> ranks = List.of(new Rank(0, network), new Rank(1, network));
        List<CompletableFuture<Void>> running = new ArrayList<>();
        for (Rank rank : ranks) {
            running.add(
                    CompletableFuture.runAsync(() -> rank.reduce(call), task -> new Thread(task, "ring-rank").start()));
        }
        for (CompletableFuture<Void> one : running) {
            one.get(50, TimeUnit.SECONDS);
        }
        for (Rank rank : ranks) {
            for (int i = 0; i < ELEMENTS; i++) {
                if (rank.values.getFloat(i * Float.BYTES) != 2 * i + 1) {
                    assertThat(rank.values.getFloat(i * Float.BYTES))
                            .as("element %d", i)
                            .isEqualTo(2 * i + 1);
                }
            }
        }
        return ranks;
    }

    private static final class Rank {
        private final ByteBuffer values =
                ByteBuffer.allocateDirect(ELEMENTS * Float.BYTES).order(ByteOrder.nativeOrder());
        private final Counted kernel = new Counted();
        /** For each message whether it lies in the tensor. */
        private final List<Boolean> sentFromTensor = new ArrayList<>();

        private final TransportCollectives collectives;

        Rank(int number, SimulatedNetwork network) {
            for (int i = 0; i < ELEMENTS; i++) {
                values.putFloat(i * Float.BYTES, i + number);
            }
            collectives = new TransportCollectives(
                    new Noted(network.of(number)),
                    number,
                    2,
                    NetworkWait.of(2),
                    1 << 20,
                    new AllreduceChoice(AllreduceAlgorithm.RING, 2),
                    kernel);
        }

        void reduce(Call call) {
            List<Tensor> tensors = List.of(Tensor.wrap(values, DType.FLOAT32, Shape.of(ELEMENTS)));
            if (call == Call.PLAIN) {
                collectives.allreduce(tensors, tensors, SUM);
            } else {
                assertThat(collectives.allreduceUnlessVetoed(tensors, tensors, SUM))
                        .isTrue();
            }
        }

        /** Only this thread uses either memory, until the message has been handed over. */
        private boolean isInTensor(ByteBuffer message) {
            ByteBuffer before = ByteBuffer.allocate(values.capacity()).put(0, values, 0, values.capacity());
            byte first = message.get(message.position());
            message.put(message.position(), (byte) ~first);
            boolean changed = !before.equals(values.duplicate().clear());
            message.put(message.position(), first);
            return changed;
        }

        private final class Noted implements Transport.Group, Transfers {
            private final Transfers network;

            Noted(Transfers network) {
                this.network = network;
            }

            @Override
            public Transfer send(ByteBuffer bytes, int to, int tag) {
                sentFromTensor.add(isInTensor(bytes));
                return network.send(bytes, to, tag);
            }

            @Override
            public Transfer receive(ByteBuffer bytes, int from, int tag) {
                return network.receive(bytes, from, tag);
            }

            @Override
            public int fastestBytes() {
                return network.fastestBytes();
            }

            @Override
            public Transfers transfers() {
                return this;
            }

            @Override
            public Optional<ByteCollectives> collectives() {
                return Optional.empty();
            }

            @Override
            public void close() {
                // There is nothing to release but memory.
            }
        }
    }

    /** Java's sums, counted. */
    private static final class Counted implements ReduceKernel {
        private int added;

        @Override
        public boolean takes(DType type) {
            return type == DType.FLOAT32;
        }

        @Override
        public void add(DType type, ByteBuffer operand, ByteBuffer sum, int count) {
            added += count;
            for (int at = 0; at < count * Float.BYTES; at += Float.BYTES) {
                sum.putFloat(at, sum.getFloat(at) + operand.getFloat(at));
            }
        }

        @Override
        public void multiply(DType type, double factor, ByteBuffer product, int count) {
            throw new AssertionError("a sum of messages is not scaled");
        }
    }
}
