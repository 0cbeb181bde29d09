package io.hvd.net;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;

/** Finds the address under which the other ranks of a job reach this host. */
public final class HostAddress {
    private HostAddress() {}

    /**
     * The loopback address if all ranks are on this host. Otherwise it is an address of the requested interfaces, or of
     * the first interface that leads out of the host, by the same rule as in the launcher and hvd-doctor. An IPv4 address
     * comes before an IPv6 one.
     *
     * @param nodes number of the node of every rank of the job
     * @param asked comma-separated interface names and networks such as 10.0.0.0/8; the first that this host has counts
     * @throws IOException if there is no such address; the message lists the addresses that this host has
     */
    public static InetAddress of(List<Integer> nodes, Optional<String> asked) throws IOException {
        if (nodes.stream().distinct().count() == 1) {
            return InetAddress.getLoopbackAddress();
        }
        return choose(candidates(), asked.orElse(""));
    }

    private static List<Candidate> candidates() throws SocketException {
        List<Candidate> candidates = new ArrayList<>();
        for (NetworkInterface there : NetworkInterface.networkInterfaces().toList()) {
            candidates.add(new Candidate(
                    there.getName(),
                    there.isUp() && !there.isLoopback(),
                    there.inetAddresses().toList()));
        }
        return candidates;
    }

    /**
     * The identity of what the ranks of a node share: a kernel, its loopback, and a folder in memory. Containers of one machine
     * may share any of these, or none. Other systems than Linux have none, and the ranks of a host have its name and addresses.
     */
    public static String node() {
        Path memory = Path.of("/dev/shm");
        return told(() -> Files.readString(Path.of("/proc/sys/kernel/random/boot_id"))
                        .strip())
                + told(() -> Files.readSymbolicLink(Path.of("/proc/self/ns/net")))
                + told(() -> Files.getAttribute(memory, "unix:dev") + ":" + Files.getAttribute(memory, "unix:ino"));
    }

    private static String told(Callable<Object> part) {
        try {
            return part.call() + " ";
        } catch (Exception e) {
            return host() + " ";
        }
    }

    /** What distinguishes this host from others where its name does not, which may be "localhost" on all of them. */
    private static String host() {
        try {
            return localName() + " " + addresses(candidates());
        } catch (SocketException e) {
            return localName();
        }
    }

    /** Those that lead out, in an order that does not depend on that of the interfaces. */
    static List<String> addresses(List<Candidate> candidates) {
        return candidates.stream()
                .filter(Candidate::leadsOut)
                .flatMap(candidate -> candidate.addresses().stream())
                .filter(address -> !address.isLinkLocalAddress())
                .map(HostAddress::digits)
                .sorted()
                .toList();
    }

    /**
     * A network interface of this host.
     *
     * @param leadsOut whether it is up and is not the loopback
     */
    record Candidate(String name, boolean leadsOut, List<InetAddress> addresses) {}

    static InetAddress choose(List<Candidate> candidates, String asked) throws IOException {
        for (String one : asked.split(",")) {
            Optional<InetAddress> found = candidates.stream()
                    .filter(candidate -> candidate.leadsOut() || isName(one))
                    .flatMap(candidate -> candidate.addresses().stream()
                            .filter(address ->
                                    Interfaces.isMeant(one, candidate.name(), address) && !isOfOneLink(address)))
                    .sorted(Comparator.comparing(Inet6Address.class::isInstance))
                    .findFirst();
            if (found.isPresent()) {
                return found.get();
            }
        }
        throw new IOException("no usable network interface" + (asked.isEmpty() ? "" : " named " + asked) + " among "
                + candidates.stream().map(Candidate::name).toList());
    }

    /**
     * Whether the user names an interface, which counts even if it is the loopback. A network may include the loopback
     * by accident.
     */
    private static boolean isName(String asked) {
        return !asked.isEmpty() && !asked.contains("/");
    }

    /** An IPv6 address of a link means nothing to another host, which would have to know its own interface to that link. */
    private static boolean isOfOneLink(InetAddress address) {
        return address instanceof Inet6Address && address.isLinkLocalAddress();
    }

    /** An address without the name of this host's interface, which means nothing to another host. */
    public static String digits(InetAddress address) {
        return address.getHostAddress().replaceFirst("%.*", "");
    }

    /** Whether an interface of this host has the address. */
    public static boolean isOwn(InetAddress address) throws SocketException {
        return NetworkInterface.getByInetAddress(address) != null;
    }

    /** Whether an interface of this host has the address and is asked for, as in {@link Interfaces#isMeant}. */
    public static boolean isMeant(String asked, InetAddress address) throws SocketException {
        NetworkInterface its = NetworkInterface.getByInetAddress(address);
        return its != null && Interfaces.isMeant(asked, its.getName(), address);
    }

    /** The name that this host has for itself. */
    public static String localName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }
}
