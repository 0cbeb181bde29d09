package io.hvd.spi;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Optional;

/** Finds the address under which the other ranks of a job reach this host. */
public final class HostAddress {
    private HostAddress() {}

    /**
     * Loopback when all ranks are on this host; otherwise the interface that was named or the first real one.
     *
     * @throws IOException if there is none; the message lists those that there are
     */
    public static InetAddress of(Topology topology, Optional<String> interfaceName) throws IOException {
        if (topology.localSize() == topology.size()) {
            return InetAddress.getLoopbackAddress();
        }
        List<NetworkInterface> interfaces = NetworkInterface.networkInterfaces().toList();
        for (NetworkInterface candidate : interfaces) {
            boolean wanted = interfaceName
                    .map(candidate.getName()::equals)
                    .orElse(candidate.isUp() && !candidate.isLoopback() && !isBridge(candidate.getName()));
            if (wanted) {
                var found = candidate
                        .inetAddresses()
                        .filter(Inet4Address.class::isInstance)
                        .findFirst();
                if (found.isPresent()) {
                    return found.get();
                }
            }
        }
        throw new IOException("no usable network interface"
                + interfaceName.map(name -> " named " + name).orElse("") + " among "
                + interfaces.stream().map(NetworkInterface::getName).toList());
    }

    /** What this host calls itself. */
    public static String localName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }

    /** Bridges of containers and virtual machines lead nowhere else. */
    private static boolean isBridge(String name) {
        return name.startsWith("docker") || name.startsWith("virbr") || name.startsWith("br-");
    }
}
