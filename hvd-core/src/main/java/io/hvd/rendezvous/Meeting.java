package io.hvd.rendezvous;

import io.hvd.net.Encryption;
import io.hvd.net.HandshakeListener;
import io.hvd.net.LauncherAddress;
import io.hvd.net.PortRange;
import io.hvd.net.ServerSockets;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.List;

/**
 * The rendezvous of the ranks of one job, or of one generation of an elastic one, in a process that is no rank.
 *
 * @param address in the form of {@link LauncherAddress}, with the secret by which the ranks are told from others
 */
public record Meeting(RendezvousServer server, String address) implements AutoCloseable {
    /**
     * Opens it at addresses of this machine.
     *
     * @param limit within which all ranks must have come
     * @param hosts of the ranks, in their order
     */
    public static Meeting at(
            List<InetAddress> addresses, PortRange ports, Encryption encryption, Duration limit, List<String> hosts)
            throws IOException {
        encryption.requireKey();
        return ServerSockets.listen(addresses, ports, sockets -> serving(sockets, encryption, limit, hosts));
    }

    private static Meeting serving(
            List<ServerSocketChannel> sockets, Encryption encryption, Duration limit, List<String> hosts)
            throws IOException {
        byte[] secret = HandshakeListener.newSecret();
        var known = new RendezvousServer.Job(hosts.size(), secret, encryption, limit, hosts);
        return new Meeting(
                RendezvousServer.start(sockets, known),
                LauncherAddress.of(sockets, secret).encode());
    }

    /** Nobody else meets here; ranks that have met go on. */
    @Override
    public void close() {
        server.close();
    }
}
