package io.hvd.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.PortRange;
import io.hvd.transport.tcp.Dialler.DataAddresses;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.channels.ServerSocketChannel;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A rank's own end of the data connections, over the loopback. */
@Timeout(60)
class DiallerEndTest {
    /** No rank of another test has this number, by which the thread is found. */
    private static final int RANK = 4711;

    private DataAddresses addresses;
    private HandshakeListener listener;
    private Dialler dialler;

    @BeforeEach
    void open() throws IOException {
        ServerSocketChannel socket = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY);
        addresses = new DataAddresses(
                List.of((InetSocketAddress) socket.getLocalAddress()), HandshakeListener.newSecret(), Encryption.NONE);
        listener = new HandshakeListener(List.of(socket));
        dialler = new Dialler(RANK, 1, addresses, LinkedRanks.LIMIT_MILLIS, listener);
    }

    @Test
    void itsThreadEndsWithItsListener() throws Exception {
        Thread accepting = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("hvd-tcp-accept-" + RANK))
                .findFirst()
                .orElseThrow();
        listener.close();
        accepting.join();
        dialler.close();
    }

    /** It has been accepted, and perhaps not been handed over. */
    @RepeatedTest(50)
    void aConnectionThatComesWhileItIsClosedIsClosedToo() throws Exception {
        InetSocketAddress here = addresses.ofRanks().get(0);
        try (FramedConnection caller = FramedConnection.dial(here, addresses.secret(), 0, LinkedRanks.LIMIT_MILLIS)) {
            dialler.close();
            assertThat(hasEnded(caller)).isTrue();
        }
    }

    private static boolean hasEnded(FramedConnection connection) {
        try {
            connection.receive(0);
            return false;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (IOException e) {
            return true;
        }
    }
}
