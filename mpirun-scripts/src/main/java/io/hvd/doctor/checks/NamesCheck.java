package io.hvd.doctor.checks;

import io.hvd.config.HvdProgram;
import io.hvd.doctor.facts.Facts.Names;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import java.util.ArrayList;
import java.util.List;

/** Whether every host has a name of its own, and every host knows the others by theirs. */
final class NamesCheck implements Check {

    @Override
    public List<Finding> findings(HostInventory inventory) {
        List<Finding> found = new ArrayList<>(
                Check.each(inventory, Diagnosis.OWN_NAME, NamesCheck::unknownSelf, "getent hosts \"$(hostname)\""));
        if (inventory.severalHosts()) {
            found.addAll(twice(inventory));
            for (Host host : inventory.hosts()) {
                found.addAll(seen(inventory, host));
            }
        }
        return found;
    }

    private static Names names(Host host) {
        return host.facts().names();
    }

    private static String unknownSelf(Host host) {
        String own = names(host).hostname();
        return addresses(host, own).isEmpty() ? "its name " + own + " leads to no address" : "";
    }

    private static List<String> addresses(Host host, String name) {
        return names(host).resolved().getOrDefault(name, List.of());
    }

    private static List<Finding> twice(HostInventory inventory) {
        List<Finding> found = new ArrayList<>();
        inventory.by(host -> names(host).hostname()).forEach((name, hosts) -> {
            if (hosts.size() > 1) {
                found.add(twice(inventory, name, hosts));
            }
        });
        return found;
    }

    private static Finding twice(HostInventory inventory, String name, List<Host> hosts) {
        long machines =
                hosts.stream().map(host -> names(host).machine()).distinct().count();
        List<String> listed = HostInventory.names(hosts);
        Host last = hosts.get(hosts.size() - 1);
        return machines == 1
                ? new Finding(
                        Diagnosis.SAME_HOST,
                        listed,
                        String.join(" and ", listed) + " are one machine, " + name,
                        HvdProgram.HOROVODRUN.line() + " -H " + listed.get(0) + ":"
                                + hosts.stream().mapToInt(Host::ranks).sum())
                : new Finding(
                        Diagnosis.SAME_NAME,
                        listed,
                        String.join(" and ", listed) + " both call themselves " + name,
                        inventory.on(
                                last.name(), "hostname " + (last.name().equals(name) ? name + "-2" : last.name())));
    }

    /** The other hosts' views of this host's name in the host list; an address needs no resolving. */
    private static List<Finding> seen(HostInventory inventory, Host host) {
        if (host.name().matches("[0-9.]+|.*:.*")) {
            return List.of();
        }
        String command = "getent hosts " + host.name();
        List<String> lost = inventory.hosts().stream()
                .filter(other -> addresses(other, host.name()).isEmpty())
                .map(Host::name)
                .toList();
        if (!lost.isEmpty()) {
            return List.of(new Finding(Diagnosis.UNKNOWN_NAME, lost, "does not know " + host.name(), command));
        }
        // A host's own name may lead to its loopback, which is fine.
        return Check.same(
                inventory.without(host),
                Diagnosis.OTHER_ADDRESS,
                host.name(),
                other -> String.join(" ", addresses(other, host.name())),
                command);
    }
}
