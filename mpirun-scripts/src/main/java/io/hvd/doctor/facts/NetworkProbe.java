package io.hvd.doctor.facts;

import io.hvd.doctor.facts.Facts.Interface;
import io.hvd.doctor.facts.Facts.Names;
import io.hvd.doctor.facts.Facts.Network;
import io.hvd.doctor.network.OwnThreads;
import io.hvd.net.HostAddress;
import io.hvd.net.Interfaces;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Finds the name of this host, the hosts that it knows, and the interfaces over which it can be reached. */
final class NetworkProbe {

    private static final int NAME_LIMIT_SECONDS = 5;

    private final Path root;

    NetworkProbe(Path root) {
        this.root = root;
    }

    /** @param asked comma list of interfaces or networks such as 10.0.0.0/8; empty for all that lead out of a host */
    Network network(String asked) {
        List<Interface> interfaces = interfaces();
        return new Network(interfaces, used(asked, interfaces), List.of());
    }

    static List<String> used(String asked, List<Interface> interfaces) {
        return interfaces.stream()
                .filter(one -> one.addresses().stream().anyMatch(address -> isMeant(asked, one.name(), address)))
                .map(Interface::name)
                .toList();
    }

    private static boolean isMeant(String asked, String name, String address) {
        try {
            return Interfaces.isMeant(asked, name, InetAddress.getByName(address)); // digits: nobody is asked
        } catch (UnknownHostException e) {
            return false;
        }
    }

    /** The IPv4 addresses, or the IPv6 ones if there are no others; none that is good for one link only. */
    private static List<String> digits(Stream<InetAddress> all) {
        Map<Boolean, List<String>> byKind = all.filter(
                        address -> address instanceof Inet4Address || !address.isLinkLocalAddress())
                .collect(Collectors.partitioningBy(
                        Inet4Address.class::isInstance, Collectors.mapping(HostAddress::digits, Collectors.toList())));
        return byKind.get(!byKind.get(true).isEmpty());
    }

    Names names(String hostname, List<String> hosts) {
        Set<String> names = new LinkedHashSet<>(hosts);
        names.add(hostname);
        Map<String, CompletableFuture<List<String>>> asked = new LinkedHashMap<>();
        names.forEach(name -> asked.put(
                name,
                CompletableFuture.supplyAsync(() -> addresses(name), OwnThreads.OF_DOCTOR)
                        .completeOnTimeout(List.of(), NAME_LIMIT_SECONDS, TimeUnit.SECONDS)));
        Map<String, List<String>> resolved = new LinkedHashMap<>();
        asked.forEach((name, answer) -> resolved.put(name, answer.join()));
        return new Names(hostname, machine(), resolved);
    }

    private static List<String> addresses(String name) {
        try {
            return digits(Arrays.stream(InetAddress.getAllByName(name))).stream()
                    .sorted()
                    .toList();
        } catch (UnknownHostException e) {
            return List.of();
        }
    }

    private static List<Interface> interfaces() {
        List<Interface> found = new ArrayList<>();
        try {
            for (NetworkInterface one : NetworkInterface.networkInterfaces().toList()) {
                if (one.isUp()) {
                    found.add(new Interface(one.getName(), digits(one.inetAddresses())));
                }
            }
        } catch (IOException e) {
            return List.of(); // a machine without network
        }
        return found;
    }

    /** Containers of one machine share its start, and differ in their cards; one machine has one start and its cards. */
    private String machine() {
        Set<String> cards = new TreeSet<>();
        try {
            for (NetworkInterface one : NetworkInterface.networkInterfaces().toList()) {
                byte[] card = one.getHardwareAddress();
                if (card != null && !Interfaces.used(List.of(one.getName())).isEmpty()) {
                    cards.add(HexFormat.of().formatHex(card));
                }
            }
        } catch (IOException e) {
            return start();
        }
        return start() + cards;
    }

    private String start() {
        try {
            return Files.readString(root.resolve("proc/sys/kernel/random/boot_id"))
                    .strip();
        } catch (IOException e) {
            return "";
        }
    }
}
