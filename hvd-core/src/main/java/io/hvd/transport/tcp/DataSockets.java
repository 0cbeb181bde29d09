package io.hvd.transport.tcp;

import io.hvd.config.ControlSettings;
import io.hvd.net.HandshakeListener;
import io.hvd.net.HostAddress;
import io.hvd.net.Invitation;
import io.hvd.spi.Topology;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.util.List;

/**
 * What a rank opens for its data connections before any rank is told of them, so that a rank that cannot open it fails before
 * another one waits for it.
 */
final class DataSockets {
    private Selector selector;
    private ServerSocketChannel socket;
    private HandshakeListener listener;

    /** @return the invitation to connect to this rank */
    Invitation open(Topology topology, ControlSettings settings) throws IOException {
        InetAddress here = HostAddress.of(topology.nodes(), settings.networkInterface());
        selector = Selector.open();
        socket = HandshakeListener.bind(here, settings.ports());
        listener = new HandshakeListener(List.of(socket), settings.encryption());
        return new Invitation((InetSocketAddress) socket.getLocalAddress(), HandshakeListener.newSecret());
    }

    Selector selector() {
        return selector;
    }

    HandshakeListener listener() {
        return listener;
    }

    void close() {
        close(listener == null ? socket : listener);
        close(selector);
    }

    /** @param one null if it has not been opened */
    private static void close(AutoCloseable one) {
        try {
            if (one != null) {
                one.close();
            }
        } catch (Exception e) {
            // It is being given up anyway.
        }
    }
}
