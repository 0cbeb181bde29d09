package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.testing.TlsKeys;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class TlsWireTest {
    private static final int MANY = 3_000_000;
    /** A loop of a test that waits for bytes ends by these, long after they must have come. */
    private static final int ATTEMPTS = 10_000_000;

    @TempDir
    private static Path folder;

    private static SSLContext job;
    private static SSLContext other;

    private final List<SocketChannel> sockets = new ArrayList<>();
    private TlsWire client;
    private TlsWire server;

    @BeforeAll
    static void makeKeys() throws Exception {
        job = TlsKeys.make(folder, "job").context();
        other = TlsKeys.make(folder, "other").context();
    }

    @BeforeEach
    void connect() throws Exception {
        connect(job, job);
    }

    private void connect(SSLContext clients, SSLContext servers) throws IOException {
        try (ServerSocketChannel listener = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY)) {
            sockets.add(SocketChannel.open(listener.getLocalAddress()));
            client = new TlsWire(sockets.get(sockets.size() - 1), engine(clients, true), ByteBuffer.allocate(0));
            sockets.add(listener.accept());
            server = new TlsWire(sockets.get(sockets.size() - 1), engine(servers, false), ByteBuffer.allocate(0));
        }
        for (SocketChannel socket : sockets) {
            socket.configureBlocking(false);
        }
    }

    private static SSLEngine engine(SSLContext context, boolean client) {
        SSLEngine engine = context.createSSLEngine();
        engine.setUseClientMode(client);
        engine.setNeedClientAuth(!client);
        engine.setEnabledProtocols(new String[] {"TLSv1.3"});
        return engine;
    }

    @AfterEach
    void closeAll() throws IOException {
        for (SocketChannel socket : sockets) {
            socket.close();
        }
    }

    private void shakeHands() throws IOException {
        boolean clients = false;
        boolean servers = false;
        for (int i = 0; i < ATTEMPTS && (!clients || !servers); i++) {
            clients |= client.shake();
            servers |= server.shake();
        }
    }

    /** One end of a talk, in which both say much at the same time. */
    private static final class Talker {
        private final TlsWire wire;
        private final ByteBuffer says;
        private final ByteBuffer hears = ByteBuffer.allocate(MANY);
        private final Random random;

        Talker(TlsWire wire, int seed) {
            this.wire = wire;
            random = new Random(seed);
            byte[] bytes = new byte[MANY];
            random.nextBytes(bytes);
            says = ByteBuffer.wrap(bytes);
        }

        boolean goOn() throws IOException {
            ByteBuffer header = part(says, 16);
            ByteBuffer body = part(says, 100_000);
            wire.write(new ByteBuffer[] {header, body});
            says.position(says.position() - header.remaining() - body.remaining());
            ByteBuffer first = part(hears, 40_000);
            ByteBuffer second = part(hears, 16);
            wire.read(new ByteBuffer[] {first, second});
            hears.position(hears.position() - first.remaining() - second.remaining());
            return says.hasRemaining() | hears.hasRemaining() | !wire.flush();
        }

        /** Some of the next bytes of a buffer, which are behind its position from now on. */
        private ByteBuffer part(ByteBuffer all, int most) {
            int count = Math.min(all.remaining(), 1 + random.nextInt(most));
            ByteBuffer part = all.slice(all.position(), count);
            all.position(all.position() + count);
            return part;
        }
    }

    @Test
    void muchInBothDirectionsArrivesThoughTheSocketsAreFullAndOneThreadServesBothEnds() throws Exception {
        shakeHands();
        Talker one = new Talker(client, 1);
        Talker two = new Talker(server, 2);

        for (int i = 0; i < ATTEMPTS && one.goOn() | two.goOn(); i++) {
            // each says and hears a piece
        }
        assertThat(one.hears.flip()).isEqualTo(two.says.flip());
        assertThat(two.hears.flip()).isEqualTo(one.says.flip());
    }

    @Test
    void whatIsSentCannotBeReadOnTheWay() throws Exception {
        shakeHands();
        client.write(ByteBuffer.wrap("nobody else reads this".getBytes(StandardCharsets.US_ASCII)));
        ByteBuffer raw = ByteBuffer.allocate(1_000);
        for (int i = 0; i < ATTEMPTS && server.socket().read(raw) == 0; i++) {
            Thread.onSpinWait();
        }
        assertThat(raw.position()).isPositive();
        assertThat(new String(raw.array(), StandardCharsets.ISO_8859_1)).doesNotContain("nobody", "else", "reads");
    }

    @Test
    void bytesThatNoSelectorTellsOfAreSaidToBeThere() throws Exception {
        shakeHands();
        client.write(ByteBuffer.wrap(new byte[10]));
        client.write(ByteBuffer.wrap(new byte[10]));
        ByteBuffer four = ByteBuffer.allocate(4);
        for (int i = 0; i < ATTEMPTS && server.read(four.clear()) == 0; i++) {
            Thread.onSpinWait();
        }
        assertThat(server.holdsBytes()).isTrue();
        int left = 16;
        for (int i = 0; i < ATTEMPTS && left > 0; i++) {
            left -= Math.max(0, server.read(four.clear()));
        }
        assertThat(left).isZero();
        assertThat(server.holdsBytes()).isFalse();
        assertThat(server.read(four.clear())).isZero();
    }

    @Test
    void whoseCertificateIsNotTrustedIsRefusedAtBothEnds() throws Exception {
        connect(other, job);
        assertThatThrownBy(this::shakeHands).isInstanceOf(SSLException.class);
        assertThatThrownBy(() -> {
                    for (int i = 0; i < ATTEMPTS; i++) {
                        server.shake();
                    }
                })
                .isInstanceOf(SSLException.class)
                .hasMessageContaining("alert");
    }

    @Test
    void aReadThatBlocksEndsWhenAnotherThreadClosesTheSocketAndByTheLimit() throws Exception {
        shakeHands();
        server.socket().configureBlocking(true);
        server.socket().socket().setSoTimeout(50);
        assertThatThrownBy(() -> server.read(ByteBuffer.allocate(1))).hasMessageContaining("timed out");
        server.socket().socket().setSoTimeout(0);
        CompletableFuture<Integer> read = CompletableFuture.supplyAsync(() -> {
            try {
                return server.read(ByteBuffer.allocate(1));
            } catch (IOException e) {
                return -2;
            }
        });
        TimeUnit.MILLISECONDS.sleep(50);
        server.socket().close();
        assertThat(read.get(10, TimeUnit.SECONDS)).isNegative();
    }

    @Test
    void theEndOfTheSocketIsTheEndOfTheBytes() throws Exception {
        shakeHands();
        client.write(ByteBuffer.wrap(new byte[5]));
        client.socket().shutdownOutput();
        server.socket().configureBlocking(true);
        ByteBuffer five = ByteBuffer.allocate(5);
        while (five.hasRemaining()) {
            assertThat(server.read(five)).isPositive();
        }
        assertThat(server.read(five.clear())).isEqualTo(-1);
    }
}
