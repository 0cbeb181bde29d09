package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PortRangeTest {
    private static final InetAddress HERE = InetAddress.getLoopbackAddress();

    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable one : open) {
            one.close();
        }
    }

    private int listen(PortRange range) throws IOException {
        ServerSocketChannel socket = HandshakeListener.bind(HERE, range);
        open.add(socket);
        return ((InetSocketAddress) socket.getLocalAddress()).getPort();
    }

    /** Two ports side by side that are free at this moment. */
    private static PortRange two() throws IOException {
        for (int attempt = 0; attempt < 100; attempt++) {
            try (ServerSocketChannel one = HandshakeListener.bind(HERE, PortRange.ANY)) {
                int port = ((InetSocketAddress) one.getLocalAddress()).getPort();
                try (ServerSocketChannel next = HandshakeListener.bind(new InetSocketAddress(HERE, port + 1))) {
                    return new PortRange(port, port + 1);
                }
            } catch (IOException | IllegalArgumentException e) {
                continue; // the next port is taken, or there is none
            }
        }
        throw new AssertionError("no two free ports side by side");
    }

    @Test
    void eachSocketTakesTheNextFreePortAndAFullRangeIsNamedWithWhatIsInUse() throws Exception {
        PortRange range = two();

        assertThat(List.of(listen(range), listen(range))).containsExactly(range.first(), range.last());
        assertThatThrownBy(() -> listen(range))
                .isInstanceOf(BindException.class)
                .hasMessage("no port of HVD_PORT_RANGE=" + range + " is free at 127.0.0.1: " + range
                        + " Address already in use");
        open.remove(0).close();
        assertThat(listen(range)).isEqualTo(range.first());
    }

    @Test
    void datagramsHavePortsOfTheirOwn() throws Exception {
        PortRange range = two();
        listen(range);
        DatagramChannel datagrams = DatagramChannel.open();
        open.add(datagrams);

        range.open(HERE, datagrams::bind);
        assertThat(((InetSocketAddress) datagrams.getLocalAddress()).getPort()).isEqualTo(range.first());
    }

    @Test
    void anAddressThatThisHostDoesNotHaveIsNotCalledAPortInUse() throws Exception {
        InetAddress elsewhere = InetAddress.getByName("192.0.2.1"); // for documentation, RFC 5737
        assertThatThrownBy(() -> HandshakeListener.bind(elsewhere, new PortRange(20_000, 20_001)))
                .hasMessageContaining("192.0.2.1: 20000-20001 Cannot assign");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "20000", "0-10", "20001-20000", "1-65536", "-1-5", "20000-20001-20002", "a-b"})
    void whatIsNoRangeIsNotRead(String text) {
        assertThat(PortRange.parse(text)).isEmpty();
        assertThat(PortRange.parse("20000-20000")).contains(new PortRange(20_000, 20_000));
    }
}
