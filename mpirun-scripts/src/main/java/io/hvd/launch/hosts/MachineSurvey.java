package io.hvd.launch.hosts;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Collects the facts about this machine: the one place of the launcher that looks at /proc and /sys. */
public final class MachineSurvey {

    private final Path root;
    private final Map<String, String> environment;

    /** @param root the root directory; a test gives another */
    public MachineSurvey(Path root, Map<String, String> environment) {
        this.root = root;
        this.environment = environment;
    }

    /** @param hosts decides whether the network addresses of this machine are needed, which takes a while */
    public MachineFacts survey(List<HostSlots> hosts) {
        return new MachineFacts(
                hostname(),
                Math.min(cores(), Runtime.getRuntime().availableProcessors()),
                uid(),
                container(),
                new FabricSearch(root.resolve("sys/class/infiniband")).find(),
                sharedMemory(),
                names(hosts),
                interfaces(),
                environment);
    }

    /** Distinct physical cores among the processors this process may run on, as mpirun counts its slots. */
    int cores() {
        Set<String> cores = new HashSet<>();
        for (int cpu : allowedCpus()) {
            Path topology = root.resolve("sys/devices/system/cpu/cpu" + cpu + "/topology");
            cores.add(read(topology.resolve("physical_package_id"), "0") + "/"
                    + read(topology.resolve("core_id"), "cpu" + cpu));
        }
        return cores.isEmpty() ? Runtime.getRuntime().availableProcessors() : cores.size();
    }

    private Set<Integer> allowedCpus() {
        Set<Integer> cpus = new HashSet<>();
        for (String line : read(root.resolve("proc/self/status"), "").split("\n")) {
            if (line.startsWith("Cpus_allowed_list:")) {
                for (String range :
                        line.substring("Cpus_allowed_list:".length()).strip().split(",")) {
                    String[] ends = range.split("-");
                    for (int cpu = Integer.parseInt(ends[0]); cpu <= Integer.parseInt(ends[ends.length - 1]); cpu++) {
                        cpus.add(cpu);
                    }
                }
            }
        }
        return cpus;
    }

    private int uid() {
        try {
            return (Integer) Files.getAttribute(root.resolve("proc/self"), "unix:uid");
        } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
            return "root".equals(System.getProperty("user.name")) ? 0 : -1;
        }
    }

    private boolean container() {
        return Files.exists(root.resolve(".dockerenv"))
                || Files.exists(root.resolve("run/.containerenv"))
                || environment.containsKey("KUBERNETES_SERVICE_HOST")
                || environment.containsKey("container");
    }

    private OptionalLong sharedMemory() {
        Path folder = root.resolve("dev/shm");
        return Files.isDirectory(folder) ? OptionalLong.of(folder.toFile().getUsableSpace()) : OptionalLong.empty();
    }

    private String hostname() {
        return read(root.resolve("proc/sys/kernel/hostname"), "localhost");
    }

    private Set<String> names(List<HostSlots> hosts) {
        String name = hostname();
        Set<String> names = new HashSet<>(Set.of("localhost", "127.0.0.1"));
        names.add(name);
        names.add(name.replaceFirst("\\..*", ""));
        List<String> unknown = hosts.stream()
                .map(HostSlots::host)
                .filter(host -> !names.contains(host) && !names.contains(host.replaceFirst("\\..*", "")))
                .toList();
        if (!unknown.isEmpty()) {
            Set<InetAddress> addresses = addresses();
            addresses.forEach(address -> names.add(address.getHostAddress()));
            unknown.stream().filter(host -> leadsHere(host, addresses)).forEach(names::add);
        }
        return Set.copyOf(names);
    }

    /** Whether a name that this machine does not call itself is one of it all the same, as mpirun would find. */
    private static boolean leadsHere(String host, Set<InetAddress> addresses) {
        try {
            InetAddress address = InetAddress.getByName(host);
            return address.isLoopbackAddress() || addresses.contains(address);
        } catch (UnknownHostException e) {
            return false; // ssh will say so
        }
    }

    private Set<String> interfaces() {
        try (Stream<Path> links = Files.list(root.resolve("sys/class/net"))) {
            return links.map(link -> link.getFileName().toString()).collect(Collectors.toUnmodifiableSet());
        } catch (IOException e) {
            return Set.of();
        }
    }

    private static Set<InetAddress> addresses() {
        Set<InetAddress> addresses = new HashSet<>();
        try {
            NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .forEach(addresses::add);
        } catch (IOException e) {
            return Set.of(); // a machine without network: only its names are known
        }
        return addresses;
    }

    private static String read(Path file, String otherwise) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return otherwise;
        }
    }
}
