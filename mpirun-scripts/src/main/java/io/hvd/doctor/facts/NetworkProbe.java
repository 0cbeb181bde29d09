package io.hvd.doctor.facts;

import io.hvd.doctor.facts.Facts.Interface;
import io.hvd.doctor.facts.Facts.Names;
import io.hvd.doctor.facts.Facts.Network;
import io.hvd.doctor.network.OwnThreads;
import io.hvd.net.Interfaces;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
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

/** What this host is called, whom it knows, and over which interfaces it can be reached. */
final class NetworkProbe {

    private static final int NAME_LIMIT_SECONDS = 5;
    private static final int ADDRESS_BITS = 32;

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
        if (asked.isEmpty()) {
            return Interfaces.used(interfaces.stream()
                    .filter(one -> !one.addresses().isEmpty())
                    .map(Interface::name)
                    .toList());
        }
        List<String> wanted = Arrays.asList(asked.split(","));
        return interfaces.stream()
                .filter(one -> !one.addresses().isEmpty()
                        && wanted.stream().anyMatch(name -> name.contains("/") ? isIn(name, one) : is(name, one)))
                .map(Interface::name)
                .toList();
    }

    /** What follows a colon is for Open MPI alone. */
    private static boolean is(String name, Interface one) {
        return one.name().equals(name.replaceFirst(":.*", ""));
    }

    private static boolean isIn(String network, Interface one) {
        String[] parts = network.split("/");
        if (!parts[0].matches("\\d+(\\.\\d+){3}") || !parts[1].matches("\\d{1,2}")) {
            return false;
        }
        int bits = Math.min(ADDRESS_BITS, Integer.parseInt(parts[1]));
        int mask = bits == 0 ? 0 : -1 << (ADDRESS_BITS - bits);
        return one.addresses().stream().anyMatch(address -> (number(address) & mask) == (number(parts[0]) & mask));
    }

    private static int number(String address) {
        try {
            return ByteBuffer.wrap(InetAddress.getByName(address).getAddress()).getInt(); // digits: nobody is asked
        } catch (UnknownHostException e) {
            return 0;
        }
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
            return Arrays.stream(InetAddress.getAllByName(name))
                    .filter(Inet4Address.class::isInstance)
                    .map(InetAddress::getHostAddress)
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
                    found.add(new Interface(
                            one.getName(),
                            one.inetAddresses()
                                    .filter(Inet4Address.class::isInstance)
                                    .map(InetAddress::getHostAddress)
                                    .toList()));
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
