package io.hvd.net;

import java.math.BigInteger;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds the network interfaces that do not lead from host to host: the loopback, and the bridges that containers and
 * virtual machines use inside their host. Their addresses are the same on every host, so a connection to one goes to
 * the wrong machine or nowhere.
 */
public final class Interfaces {

    private static final Pattern INSIDE = Pattern.compile("lo|docker\\d+|virbr.*|br-[0-9a-f]{12}|veth.*|lxcbr\\d+"
            + "|lxdbr\\d+|vboxnet\\d+|vmnet\\d+|cni\\d+|podman\\d+|cali.*|cilium_.*|kube-ipvs\\d+");

    /** Names that are left out even if this host does not have them, because another host may. */
    private static final List<String> COMMON = List.of("lo", "docker0", "virbr0");

    private static final Pattern NETWORK =
            Pattern.compile("([0-9]+(?:\\.[0-9]+){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)/(\\d{1,3})");

    private Interfaces() {}

    /** The interfaces to leave out, in order. */
    public static List<String> leftOut(Collection<String> present) {
        var names = new TreeSet<>(COMMON);
        present.stream().filter(name -> INSIDE.matcher(name).matches()).forEach(names::add);
        return List.copyOf(names);
    }

    /** The interfaces that remain. */
    public static List<String> used(Collection<String> present) {
        return present.stream()
                .filter(name -> !INSIDE.matcher(name).matches())
                .sorted()
                .toList();
    }

    /**
     * Whether other hosts are to reach this host at an address of an interface.
     *
     * @param asked comma-separated interface names and networks such as 10.0.0.0/8; empty for all interfaces that lead
     *     out of the host
     */
    public static boolean isMeant(String asked, String name, InetAddress address) {
        if (asked.isEmpty()) {
            return !used(List.of(name)).isEmpty();
        }
        return Arrays.stream(asked.split(","))
                .anyMatch(one -> one.contains("/")
                        ? isIn(one, address)
                        : one.replaceFirst(":.*", "").equals(name));
    }

    private static boolean isIn(String network, InetAddress address) {
        Matcher parts = NETWORK.matcher(network);
        byte[] bytes = address.getAddress();
        if (!parts.matches()) {
            return false;
        }
        try {
            // an address in digits needs no name server
            byte[] prefix = InetAddress.getByName(parts.group(1)).getAddress();
            int rest = Byte.SIZE * bytes.length - Math.min(Byte.SIZE * bytes.length, Integer.parseInt(parts.group(2)));
            return prefix.length == bytes.length
                    && new BigInteger(1, prefix).shiftRight(rest).equals(new BigInteger(1, bytes).shiftRight(rest));
        } catch (UnknownHostException e) {
            return false;
        }
    }

    /** The interface names in a list, without its networks. */
    public static List<String> names(String asked) {
        return Arrays.stream(asked.split(",")).filter(one -> !one.contains("/")).toList();
    }

    /**
     * The interface names in a list that a host does not have. Networks such as 10.0.0.0/8 are ignored, and so is text
     * after a colon.
     */
    public static List<String> missing(String asked, Collection<String> present) {
        return names(asked).stream()
                .filter(name -> !present.contains(name.replaceFirst(":.*", "")))
                .toList();
    }
}
