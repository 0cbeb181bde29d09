package io.hvd.net;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** Where a server listens that ranks of other hosts come to. */
public final class ServerSockets {
    private ServerSockets() {}

    /** Makes a server of its listening sockets. */
    public interface Opening<S> {
        S of(List<ServerSocketChannel> sockets) throws IOException;
    }

    /** Opens a server whose sockets listen at some addresses of this host; where that fails none stays open. */
    public static <S> S listen(List<InetAddress> addresses, PortRange ports, Opening<S> opening) throws IOException {
        List<ServerSocketChannel> sockets = new ArrayList<>();
        try {
            for (InetAddress address : addresses) {
                sockets.add(HandshakeListener.bind(address, ports));
            }
            return opening.of(sockets);
        } catch (IOException e) {
            for (ServerSocketChannel socket : sockets) {
                socket.close();
            }
            throw e;
        }
    }

    /**
     * The addresses at which other hosts reach this one. IPv4 comes first; an IPv6 address that is only good for one link
     * leads nowhere from another host.
     *
     * @param interfaces comma list of names and networks through which other hosts are reached; empty for all that lead
     *     out of this one
     * @throws IOException if this host has none of those that are named
     */
    public static List<InetAddress> addresses(String interfaces) throws IOException {
        List<InetAddress> found = new ArrayList<>();
        for (NetworkInterface one : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            if (one.isUp()) {
                one.inetAddresses()
                        .filter(address -> Interfaces.isMeant(interfaces, one.getName(), address))
                        .forEach(found::add);
            }
        }
        List<InetAddress> reached = found.stream()
                .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
                .sorted(Comparator.comparing(address -> !(address instanceof Inet4Address)))
                .toList();
        if (reached.isEmpty() && !interfaces.isEmpty()) {
            throw new IOException("this machine has no address on " + interfaces + ", where --network-interfaces or"
                    + " HOROVOD_GLOO_IFACE lets it listen for the ranks of other hosts");
        }
        return reached;
    }
}
