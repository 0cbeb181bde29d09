package io.hvd.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.Collectives.Completion;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What goes beside the ring: ranks as threads, whose messages are counted. Nothing, less than a message, and several. */
@Timeout(60)
class ExchangeTest {
    private static final int[] LENGTHS = {0, 1, 7, Messages.BYTES, Messages.BYTES + 1, 400_000};

    private final List<Long> sent = new ArrayList<>();

    /** Every rank gets what each has for it, with two of them under way. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void everyRankGetsWhatEachHasForIt(int ranks) throws Exception {
        List<Boolean> right = onAll(ranks, position -> {
            List<ByteBuffer[]> arrived = new ArrayList<>();
            List<Completion> begun = new ArrayList<>();
            for (int round = 0; round < 2; round++) {
                int number = round;
                ByteBuffer[] into = IntStream.range(0, ranks)
                        .mapToObj(from -> ByteBuffer.allocateDirect(length(number, from, position.rank())))
                        .toArray(ByteBuffer[]::new);
                arrived.add(into);
                begun.add(new Exchange(position, to -> letter(number, position.rank(), to), from -> into[from]));
            }
            while (!begun.isEmpty()) {
                begun.removeIf(Completion::isDone);
            }
            return IntStream.range(0, 2 * ranks)
                    .filter(i -> i % ranks != position.rank())
                    .allMatch(i ->
                            arrived.get(i / ranks)[i % ranks].equals(letter(i / ranks, i % ranks, position.rank())));
        });
        assertThat(right).hasSize(ranks).containsOnly(true);
        for (int rank = 0; rank < ranks; rank++) {
            int from = rank;
            assertThat(sent.get(rank))
                    .isEqualTo(IntStream.range(0, 2 * ranks)
                            .filter(i -> i % ranks != from)
                            .mapToLong(i -> length(i / ranks, from, i % ranks))
                            .sum());
        }
    }

    private static int length(int round, int from, int to) {
        return LENGTHS[(2 * round + 3 * from + to) % LENGTHS.length];
    }

    private static ByteBuffer letter(int round, int from, int to) {
        return bytes(length(round, from, to), 31 * round + 7 * from + to);
    }

    private static ByteBuffer bytes(int length, int seed) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i * 13 + seed);
        }
        return ByteBuffer.allocateDirect(length).put(bytes).flip();
    }

    /** Nobody sends a byte twice; the last one in the chain only says that it has everything. All are under way at once. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void chainsHandOnWhatTheRootHas(int ranks) throws Exception {
        int root = ranks / 2;
        List<Boolean> right = onAll(ranks, position -> {
            List<ByteBuffer> buffers = new ArrayList<>();
            List<Completion> begun = new ArrayList<>();
            for (int i = 0; i < LENGTHS.length; i++) {
                int length = LENGTHS[i];
                buffers.add(position.rank() == root ? bytes(length, i) : ByteBuffer.allocateDirect(length));
                RingPosition own = new RingPosition(position.transfers(), position.rank(), ranks, position.tag() + i);
                begun.add(new ChainBroadcast(own, buffers.get(i), root));
            }
            while (!begun.isEmpty()) {
                begun.removeIf(Completion::isDone);
            }
            return IntStream.range(0, LENGTHS.length)
                    .allMatch(i -> buffers.get(i).equals(bytes(LENGTHS[i], i)));
        });
        assertThat(right).hasSize(ranks).containsOnly(true);
        long all = ranks == 1 ? 0 : IntStream.of(LENGTHS).sum();
        long words = ranks == 1
                ? 0
                : IntStream.of(LENGTHS).filter(length -> length > 0).count();
        int last = Math.floorMod(root - 1, ranks);
        assertThat(sent)
                .containsExactlyElementsOf(LongStream.range(0, ranks)
                        .mapToObj(rank -> rank == last ? words : all)
                        .toList());
    }

    /** Otherwise it could send on and on, and fill the memory of a rank whose own link is slower. */
    @Test
    void theRootIsDoneWhenTheLastRankIs() {
        SimulatedNetwork network = new SimulatedNetwork(3);
        List<RingPosition> seats = IntStream.range(0, 3)
                .mapToObj(i -> new RingPosition(network.of(i), i, 3, 1))
                .toList();
        ChainBroadcast root = new ChainBroadcast(seats.get(0), bytes(100, 1), 0);
        ChainBroadcast middle = new ChainBroadcast(seats.get(1), ByteBuffer.allocateDirect(100), 0);
        for (int i = 0; i < 100; i++) {
            assertThat(middle.isDone()).isFalse();
            assertThat(root.isDone()).isFalse();
        }
        ChainBroadcast last = new ChainBroadcast(seats.get(2), ByteBuffer.allocateDirect(100), 0);
        while (!(last.isDone() & middle.isDone() & root.isDone())) {
            Thread.onSpinWait();
        }
        assertThat(network.bytesSentBy(2)).isEqualTo(1);
    }

    private <T> List<T> onAll(int ranks, Function<RingPosition, T> body) throws Exception {
        SimulatedNetwork network = new SimulatedNetwork(ranks);
        List<CompletableFuture<T>> running = new ArrayList<>();
        for (int i = 0; i < ranks; i++) {
            RingPosition position = new RingPosition(network.of(i), i, ranks, 9);
            running.add(CompletableFuture.supplyAsync(
                    () -> body.apply(position), task -> new Thread(task, "exchange-rank").start()));
        }
        List<T> results = new ArrayList<>();
        for (CompletableFuture<T> rank : running) {
            results.add(rank.get(50, TimeUnit.SECONDS));
        }
        for (int i = 0; i < ranks; i++) {
            sent.add(network.bytesSentBy(i));
        }
        return results;
    }
}
