package io.hvd.doctor.checks;

import io.hvd.config.HvdProgram;
import io.hvd.doctor.facts.Facts.Interface;
import io.hvd.doctor.facts.Facts.Network;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import io.hvd.doctor.network.MeasuredLink;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Whether every host reaches every other over the interfaces of the job, how quickly, and whether their clocks agree. */
final class NetworkCheck implements Check {

    /** A bit less than a gigabit per second leaves for data. */
    private static final double SLOW_BYTES_PER_SECOND = 100e6;

    private static final double LONG_MICROS = 1_000;
    private static final double CLOCK_MICROS = 100_000;

    @Override
    public List<Finding> findings(HostInventory inventory) {
        List<Finding> found = new ArrayList<>();
        if (inventory.severalHosts() || !inventory.interfaces().isEmpty()) {
            found.addAll(Check.each(
                    inventory,
                    Diagnosis.NO_INTERFACE,
                    host -> unused(inventory, host.facts().network()),
                    "ip -brief address"));
        }
        byPair(inventory).values().forEach(links -> found.addAll(pair(inventory, links)));
        found.addAll(clocks(inventory));
        return found;
    }

    private static String unused(HostInventory inventory, Network network) {
        if (!network.used().isEmpty()) {
            return "";
        }
        List<String> there = network.interfaces().stream().map(Interface::name).toList();
        return "none of " + (inventory.interfaces().isEmpty() ? "its interfaces leads out" : inventory.interfaces())
                + ", there are " + String.join(", ", there);
    }

    private static Map<String, List<MeasuredLink>> byPair(HostInventory inventory) {
        Map<String, List<MeasuredLink>> pairs = new LinkedHashMap<>();
        inventory
                .links()
                .forEach(link -> pairs.computeIfAbsent(link.from() + " " + link.to(), any -> new ArrayList<>())
                        .add(link));
        return pairs;
    }

    private static List<Finding> pair(HostInventory inventory, List<MeasuredLink> links) {
        List<MeasuredLink> open = links.stream().filter(MeasuredLink::open).toList();
        List<Finding> found = new ArrayList<>();
        for (MeasuredLink link : links) {
            if (!link.open()) {
                found.add(finding(
                        open.isEmpty() ? Diagnosis.NO_CONNECTION : Diagnosis.ONE_WAY_CLOSED,
                        link,
                        "no connection to " + link.to() + " at " + link.address() + " (" + link.network() + "): "
                                + link.obstacle(),
                        open.isEmpty()
                                ? inventory.on(link.to(), "nft list ruleset")
                                : HvdProgram.HOROVODRUN.line() + " --network-interfaces "
                                        + open.get(0).network()));
            }
        }
        for (MeasuredLink link : open) {
            found.addAll(speed(link));
        }
        return found;
    }

    private static List<Finding> speed(MeasuredLink link) {
        List<Finding> found = new ArrayList<>();
        if (link.bytesPerSecond() < SLOW_BYTES_PER_SECOND) {
            found.add(finding(
                    Diagnosis.SLOW_LINK,
                    link,
                    String.format(
                            Locale.ROOT,
                            "%.0f MB/s to %s over %s",
                            link.bytesPerSecond() / 1e6,
                            link.to(),
                            link.network()),
                    "ethtool " + link.network()));
        }
        if (link.roundTripMicros() > LONG_MICROS) {
            found.add(finding(
                    Diagnosis.LONG_WAY,
                    link,
                    String.format(Locale.ROOT, "%.1f ms to %s and back", link.roundTripMicros() / 1e3, link.to()),
                    "ping -c 10 " + link.address()));
        }
        return found;
    }

    private static Finding finding(Diagnosis diagnosis, MeasuredLink link, String found, String command) {
        return new Finding(diagnosis, List.of(link.from()), found, command);
    }

    /** Compares the clocks with the first host's. Measuring may be wrong by half of the round trip. */
    private static List<Finding> clocks(HostInventory inventory) {
        if (inventory.hosts().isEmpty()) {
            return List.of();
        }
        String first = inventory.hosts().get(0).name();
        List<Finding> found = new ArrayList<>();
        for (Host host : inventory.hosts()) {
            inventory.links().stream()
                    .filter(link -> link.open()
                            && link.from().equals(first)
                            && link.to().equals(host.name()))
                    .findFirst()
                    .filter(link -> Math.abs(link.clockAheadMicros()) - link.roundTripMicros() / 2 > CLOCK_MICROS)
                    .ifPresent(link -> found.add(new Finding(
                            Diagnosis.CLOCKS_DIFFER,
                            List.of(host.name()),
                            String.format(
                                    Locale.ROOT,
                                    "its clock is %.3f s %s that of %s",
                                    Math.abs(link.clockAheadMicros()) / 1e6,
                                    link.clockAheadMicros() > 0 ? "ahead of" : "behind",
                                    first),
                            inventory.on(host.name(), "chronyc makestep"))));
        }
        return found;
    }
}
