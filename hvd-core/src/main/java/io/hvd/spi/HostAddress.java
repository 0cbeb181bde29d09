package io.hvd.spi;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.util.ArrayList;
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
        List<Candidate> candidates = new ArrayList<>();
        for (NetworkInterface there : NetworkInterface.networkInterfaces().toList()) {
            candidates.add(new Candidate(
                    there.getName(),
                    there.isUp() && !there.isLoopback(),
                    there.inetAddresses().filter(Inet4Address.class::isInstance).findFirst()));
        }
        return choose(candidates, interfaceName);
    }

    /**
     * A network interface of this host.
     *
     * @param leadsOut whether it is up and more than the loopback
     * @param address its first of version 4
     */
    record Candidate(String name, boolean leadsOut, Optional<InetAddress> address) {}

    static InetAddress choose(List<Candidate> candidates, Optional<String> interfaceName) throws IOException {
        return candidates.stream()
                .filter(candidate -> interfaceName
                        .map(candidate.name()::equals)
                        .orElse(candidate.leadsOut() && !isBridge(candidate.name())))
                .flatMap(candidate -> candidate.address().stream())
                .findFirst()
                .orElseThrow(() -> new IOException("no usable network interface"
                        + interfaceName.map(name -> " named " + name).orElse("") + " among "
                        + candidates.stream().map(Candidate::name).toList()));
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
