package io.hvd.launch.hosts;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Looks for a network that Open MPI drives better than TCP: InfiniBand, RoCE, Omni-Path or EFA.
 * All of them register with the kernel's verbs layer; only devices with an active port count.
 */
final class FabricSearch {

    private final Path devices;

    /** @param devices {@code /sys/class/infiniband} */
    FabricSearch(Path devices) {
        this.devices = devices;
    }

    /** The active devices and their kinds in words. */
    Optional<String> find() {
        String found = children(devices).stream()
                .filter(this::active)
                .map(device -> device.getFileName() + " (" + kind(device) + ")")
                .collect(Collectors.joining(", "));
        return found.isEmpty() ? Optional.empty() : Optional.of(found);
    }

    private boolean active(Path device) {
        return children(device.resolve("ports")).stream()
                .anyMatch(port -> read(port.resolve("state")).contains("ACTIVE"));
    }

    private static String kind(Path device) {
        if (driver(device).equals("efa")) {
            return "EFA";
        }
        if (driver(device).startsWith("hfi")) {
            return "Omni-Path";
        }
        boolean ethernet = children(device.resolve("ports")).stream()
                .anyMatch(port -> read(port.resolve("link_layer")).equals("Ethernet"));
        return ethernet ? "RoCE" : "InfiniBand";
    }

    private static String driver(Path device) {
        try {
            return device.resolve("device/driver").toRealPath().getFileName().toString();
        } catch (IOException e) {
            return "";
        }
    }

    private static List<Path> children(Path folder) {
        try (Stream<Path> children = Files.list(folder)) {
            return children.sorted().toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return "";
        }
    }
}
