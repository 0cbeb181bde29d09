package io.hvd.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Transfers;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;
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

    /** So they may take as many connections to a rank as there are, and small ones all take the same. */
    @Test
    void theMessagesOfAnExchangeTakeTurnsInTheirTags() throws Exception {
        int bytes = 10 * Messages.BYTES;
        List<Set<Integer>> tags = onAll(2, position -> {
            Set<Integer> used = new TreeSet<>();
            Transfers inner = position.transfers();
            Transfers noting = new Transfers() {
                @Override
                public int fastestBytes() {
                    return inner.fastestBytes();
                }

                @Override
                public Transfer send(ByteBuffer part, int to, int tag) {
                    used.add(tag - position.tag());
                    return inner.send(part, to, tag);
                }

                @Override
                public Transfer receive(ByteBuffer part, int from, int tag) {
                    return inner.receive(part, from, tag);
                }
            };
            RingPosition noted = new RingPosition(noting, position.rank(), 2, position.tag());
            ByteBuffer small = ByteBuffer.allocateDirect(1);
            await(new Exchange(noted, to -> bytes(1, position.rank()), from -> small));
            assertThat(used).containsExactly(0);
            ByteBuffer large = ByteBuffer.allocateDirect(bytes);
            await(new Exchange(noted, to -> bytes(bytes, position.rank()), from -> large));
            assertThat(large).isEqualTo(bytes(bytes, 1 - position.rank()));
            return used;
        });
        assertThat(tags).containsOnly(Set.of(0, 1, 2, 3, 4, 5, 6, 7));
    }

    private static void await(Completion begun) {
        while (!begun.isDone()) {
            Thread.onSpinWait();
        }
    }

    /** Nobody sends a byte twice. All are under way at once. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void manyBytesGoAlongAChain(int ranks) throws Exception {
        int[] lengths = {Relay.TREE_BYTES + 1, 400_000};
        requireBroadcasts(ranks, ranks / 2, lengths);
        int last = Math.floorMod(ranks / 2 - 1, ranks);
        for (int rank = 0; rank < ranks; rank++) {
            assertThat(sent.get(rank))
                    .isEqualTo(rank == last ? 0 : IntStream.of(lengths).sum());
        }
    }

    /** Each rank but the root receives the data once; the root sends it to the first rank of each step. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 8, 9})
    void fewBytesGoAlongATree(int ranks) throws Exception {
        int[] lengths = {0, 1, 7, Messages.BYTES, Messages.BYTES + 1, Relay.TREE_BYTES};
        int root = ranks / 2;
        requireBroadcasts(ranks, root, lengths);
        long all = IntStream.of(lengths).sum();
        int steps = Integer.SIZE - Integer.numberOfLeadingZeros(ranks - 1);
        assertThat(sent.get(root)).isEqualTo(steps * all);
        assertThat(sent.stream().mapToLong(Long::longValue).sum()).isEqualTo((ranks - 1) * all);
    }

    private void requireBroadcasts(int ranks, int root, int... lengths) throws Exception {
        List<Boolean> right = onAll(ranks, position -> {
            List<ByteBuffer> buffers = new ArrayList<>();
            List<Completion> begun = new ArrayList<>();
            for (int i = 0; i < lengths.length; i++) {
                buffers.add(position.rank() == root ? bytes(lengths[i], i) : ByteBuffer.allocateDirect(lengths[i]));
                int tag = position.tag() + i * RingPosition.TAGS;
                RingPosition own = new RingPosition(position.transfers(), position.rank(), ranks, tag);
                begun.add(new RelayedBroadcast(own, buffers.get(i), root));
            }
            while (!begun.isEmpty()) {
                begun.removeIf(Completion::isDone);
            }
            return IntStream.range(0, lengths.length)
                    .allMatch(i -> buffers.get(i).equals(bytes(lengths[i], i)));
        });
        assertThat(right).hasSize(ranks).containsOnly(true);
    }

    /** Otherwise it could send on and on, and fill the memory of a rank whose own link is slower. */
    @ParameterizedTest
    @ValueSource(ints = {100, 300_000})
    void theRootIsDoneWhenTheLastRankIs(int length) {
        SimulatedNetwork network = new SimulatedNetwork(3);
        List<RingPosition> seats = IntStream.range(0, 3)
                .mapToObj(i -> new RingPosition(network.of(i), i, 3, 1))
                .toList();
        RelayedBroadcast root = new RelayedBroadcast(seats.get(0), bytes(length, 1), 0);
        RelayedBroadcast middle = new RelayedBroadcast(seats.get(1), ByteBuffer.allocateDirect(length), 0);
        for (int i = 0; i < 100; i++) {
            middle.isDone();
            assertThat(root.isDone()).isFalse();
        }
        RelayedBroadcast last = new RelayedBroadcast(seats.get(2), ByteBuffer.allocateDirect(length), 0);
        while (!(last.isDone() & middle.isDone() & root.isDone())) {
            Thread.onSpinWait();
        }
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
