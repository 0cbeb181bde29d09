package io.hvd.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ShutdownException;
import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.spi.Transfers;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks that are connected over the loopback and take turns on one thread. In some tests, rank 1 is the test itself. */
@Timeout(60)
class LinksTest {
    private static final int GROUP = 9;

    /** Some are awaited when they come, and some come before; each has another size. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 16})
    void messagesOfOneTagKeepTheirOrderOverAnyNumberOfConnections(int lanes) throws IOException {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        try (LinkedRanks ranks = new LinkedRanks(3, lanes)) {
            List<Transfer> underWay = new ArrayList<>();
            List<ByteBuffer> places = new ArrayList<>();
            List<ByteBuffer> letters = new ArrayList<>();
            for (int i = 0; i < 300; i++) {
                int from = i % 3;
                int to = (from + 1 + random.nextInt(2)) % 3;
                int tag = random.nextInt(20);
                int bytes = random.nextInt(10) == 0 ? Transfers.MOST_BYTES : random.nextInt(5_000);
                ByteBuffer letter = letter(bytes, i);
                letters.add(letter);
                places.add(ByteBuffer.allocateDirect(bytes));
                underWay.add(ranks.of(from).send(GROUP, tag, letter, to));
                if (random.nextBoolean()) {
                    underWay.removeIf(Transfer::isDone); // so that it may come before it is awaited
                }
                underWay.add(ranks.of(to).receive(GROUP, tag, places.get(i), from));
            }
            while (!underWay.isEmpty()) {
                underWay.removeIf(Transfer::isDone);
            }
            assertThat(places).as("seed %d", seed).isEqualTo(letters);
        }
    }

    private static ByteBuffer letter(int bytes, int seed) {
        ByteBuffer letter = ByteBuffer.allocateDirect(bytes);
        for (int i = 0; i < bytes; i++) {
            letter.put(i, (byte) (i * 13 + seed));
        }
        return letter;
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, Integer.MIN_VALUE, Transfers.MOST_BYTES + 1, Integer.MAX_VALUE})
    void aHeadThatAnnouncesAnImpossibleLengthIsRefusedBeforeThereIsMemoryForIt(int length) throws IOException {
        try (LinkedRanks ranks = new LinkedRanks(2, 1);
                Socket other = dialled(ranks, 0, 1)) {
            Transfer awaited = ranks.of(0).receive(GROUP, 5, ByteBuffer.allocateDirect(8), 1);
            other.getOutputStream().write(head(5, length));
            assertThatThrownBy(() -> LinkedRanks.await(awaited))
                    .isInstanceOf(ShutdownException.class)
                    .hasMessageEndingWith(
                            "rank 1 (host1) is gone: its data connection broke: what has come is no message of hvd's: "
                                    + "its length would be " + length + " bytes, expected 0 to 122880");
        }
    }

    @Test
    void aMessageThatIsTooLongIsNotSent() throws IOException {
        try (LinkedRanks ranks = new LinkedRanks(2, 1)) {
            ByteBuffer much = ByteBuffer.allocateDirect(Transfers.MOST_BYTES + 1);
            assertThatThrownBy(() -> ranks.of(1).send(GROUP, 5, much, 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("a message of 122881 bytes for rank 0 (host0) with tag 5, the most are 122880");
        }
    }

    @Test
    void aMessageThatComesEarlyTakesLittleMoreMemoryThanItHasBytes() {
        EarlyBuffers buffers = new EarlyBuffers();
        for (int bytes : new int[] {0, 1, 64, 65, 1_000, 63 << 10, Transfers.MOST_BYTES}) {
            ByteBuffer buffer = buffers.take(bytes);
            assertThat(buffer.remaining()).isEqualTo(bytes);
            assertThat(buffer.capacity()).isLessThanOrEqualTo(Math.max(64, 2 * bytes));
            buffers.give(buffer);
            assertThat(buffers.take(bytes)).isSameAs(buffer);
        }
    }

    /** What has come of it is lost, whether its place was known or not. */
    @ParameterizedTest
    @ValueSource(ints = {5, 6})
    void aRankThatDiesInTheMiddleOfAMessageIsNamed(int tag) throws IOException {
        try (LinkedRanks ranks = new LinkedRanks(2, 1);
                Socket other = dialled(ranks, 0, 1)) {
            Transfer awaited = ranks.of(0).receive(GROUP, 5, ByteBuffer.allocateDirect(10_000), 1);
            other.getOutputStream().write(head(tag, 10_000));
            other.getOutputStream().write(new byte[9_999]);
            other.close();
            assertThatThrownBy(() -> LinkedRanks.await(awaited))
                    .isInstanceOf(ShutdownException.class)
                    .hasMessageEndingWith("rank 1 (host1) is gone: its data connection has ended, "
                            + "so its process has left the job or died");
        }
    }

    /** A rank that leaves closes all of its connections, and the end of one may be seen before the last message of another. */
    @Test
    void theLastMessagesOfAConnectionAreReadThoughAnotherOneHasEnded() throws IOException {
        try (LinkedRanks ranks = new LinkedRanks(2, 2);
                Socket first = dialled(ranks, 0, 2);
                Socket second = dialled(ranks, 1, 2)) {
            Transfer overTheFirst = ranks.of(0).receive(GROUP, 4, ByteBuffer.allocateDirect(1), 1);
            Transfer overTheSecond = ranks.of(0).receive(GROUP, 5, ByteBuffer.allocateDirect(1), 1);
            first.close();
            assertThatThrownBy(() -> LinkedRanks.await(overTheFirst)).hasMessageContaining("rank 1 (host1) is gone");
            assertThat(overTheSecond.isDone()).isFalse();
            second.getOutputStream().write(head(5, 1));
            second.getOutputStream().write(1);
            LinkedRanks.await(overTheSecond);
        }
    }

    /** Then the launcher names that rank, and not the one that has noticed it. */
    @Test
    void aRankThatHasDiedBeforeItWasCalledIsGone() throws IOException {
        try (LinkedRanks ranks = new LinkedRanks(2, 1)) {
            ranks.of(0).close();
            assertThatThrownBy(() -> ranks.of(1).send(GROUP, 5, ByteBuffer.allocateDirect(8), 0))
                    .isInstanceOf(ShutdownException.class)
                    .hasMessageContaining("rank 0 (host0) at /127.0.0.1:")
                    .hasMessageContaining("cannot be reached for data: Connection refused: its process has ended");
        }
    }

    @Test
    void aMessageOfAnotherLengthThanAwaitedIsRefused() throws IOException {
        try (LinkedRanks ranks = new LinkedRanks(2, 1)) {
            Transfer awaited = ranks.of(0).receive(GROUP, 5, ByteBuffer.allocateDirect(8), 1);
            LinkedRanks.await(ranks.of(1).send(GROUP, 5, ByteBuffer.allocateDirect(12), 0));
            assertThatThrownBy(() -> LinkedRanks.await(awaited))
                    .hasMessageEndingWith("rank 1 (host1) has sent 12 bytes with tag 5, expected 8");
        }
    }

    /** Connects to rank 0 as rank 1 does. */
    private static Socket dialled(LinkedRanks ranks, int lane, int lanes) throws IOException {
        SocketChannel channel = SocketChannel.open(ranks.addresses().ofRanks().get(0));
        FramedConnection.greet(
                channel, Encryption.NONE, ranks.addresses().secret(), lanes + lane, LinkedRanks.LIMIT_MILLIS);
        return channel.socket();
    }

    private static byte[] head(int tag, int length) {
        return ByteBuffer.allocate(16).putLong(GROUP).putInt(tag).putInt(length).array();
    }
}
