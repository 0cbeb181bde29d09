package io.hvd.launch.hosts;

import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.words.UsageException;
import io.hvd.net.Interfaces;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The hosts of a job beside this machine: which they are, and what is known of them. */
public final class OtherHosts {

    private final List<HostSlots> hosts;
    private final SshAccess ssh;
    private final HostChecks checks;
    private final MachineFacts machine;
    private final HostCache cache;
    /** The names that the hosts have for themselves, as far as they are known. */
    private final Map<String, String> hostnames = new TreeMap<>();

    /** @param hosts all that the user has named, in order */
    public OtherHosts(List<HostSlots> hosts, SshAccess ssh, HostChecks checks, MachineFacts machine) {
        this.hosts = hosts;
        this.ssh = ssh;
        this.checks = checks;
        this.machine = machine;
        String view = "from " + machine.hostname() + " " + String.join(" ", ssh.words());
        this.cache = new HostCache(HostCache.file(machine.environment()), view, Clock.systemUTC());
    }

    /** The interfaces of hosts that were found within the last hour; nobody is asked. */
    public Map<String, Set<String>> known() {
        return checks.useCache() ? cache.recent(names()) : Map.of();
    }

    /**
     * Asks those of whom nothing is known.
     *
     * @param progress gets a line from time to time while a host is waited for
     * @throws UsageException if one is not reached, or two have one name
     */
    public Map<String, Set<String>> checked(PrintStream progress) throws InterruptedException {
        Map<String, Set<String>> all = new TreeMap<>(known());
        hostnames.putAll(checks.useCache() ? cache.hostnames(names()) : Map.of());
        Set<String> unknown = names();
        unknown.removeAll(all.keySet());
        if (!unknown.isEmpty()) {
            HostCheck check = check(unknown, progress);
            Map<String, Set<String>> found = check.ask(unknown);
            hostnames.putAll(check.hostnames());
            cache.remember(found, hostnames);
            all.putAll(found);
        }
        requireDistinctNames();
        return all;
    }

    /**
     * Asks all of them, whatever was found before.
     *
     * @param progress gets a sentence for each host that is not reached
     * @return those that are reached, and those that need not be asked
     */
    public List<HostSlots> reached(PrintStream progress) throws InterruptedException {
        Set<String> names = names();
        if (names.isEmpty()) {
            return hosts;
        }
        Map<String, String> failed = check(names, progress).look(names).failed();
        failed.forEach((host, said) -> progress.println("horovodrun: " + host + " is left out, ssh does not reach it: "
                + said.lines().findFirst().orElse("it says nothing")));
        return hosts.stream().filter(one -> !failed.containsKey(one.host())).toList();
    }

    private HostCheck check(Set<String> names, PrintStream progress) {
        Path program = MpiInstall.onPath("ssh", machine.environment())
                .orElseThrow(() -> new UsageException(
                        "no-ssh",
                        "ssh is not on PATH, but there are other hosts: " + String.join(", ", names)
                                + "; install openssh-client"));
        return new HostCheck(program, ssh, Duration.ofSeconds(checks.limitSeconds()), progress);
    }

    /**
     * Open MPI knows hosts by what they call themselves, and crashes where two of a job have one name. It takes all names
     * of this machine for one host.
     */
    private void requireDistinctNames() {
        if (hosts.size() < 2) {
            return;
        }
        Map<String, List<String>> listed = new TreeMap<>();
        hostnames.forEach((host, name) ->
                listed.computeIfAbsent(name, any -> new ArrayList<>()).add(host));
        hosts.stream()
                .map(HostSlots::host)
                .filter(machine::is)
                .findFirst()
                .ifPresent(here -> listed.computeIfAbsent(machine.hostname(), any -> new ArrayList<>())
                        .add(here));
        listed.forEach((name, those) -> {
            if (those.size() > 1) {
                throw new UsageException(
                        "same-hostname",
                        String.join(" and ", those) + " both call themselves " + name
                                + ", and Open MPI crashes where two hosts of a job have one name: if they are one"
                                + " machine, list it once with all slots, as in -H " + those.get(0) + ":"
                                + slots(those) + "; if they are two, give each a name of its own, by hostname or"
                                + " hostnamectl");
            }
        });
    }

    private int slots(List<String> names) {
        return HostSlots.total(
                hosts.stream().filter(one -> names.contains(one.host())).toList());
    }

    /**
     * Looks for the network interfaces that the user has named.
     *
     * @param asked comma list
     * @throws UsageException if a host lacks all of them
     */
    public void checkInterfaces(String asked, Map<String, Set<String>> others) {
        checkInterfaces(asked, "this machine", machine.interfaces());
        others.forEach((host, present) -> checkInterfaces(asked, host, present));
    }

    /** Hosts may differ: a list is good for a host that has one of its names. */
    private static void checkInterfaces(String asked, String host, Set<String> present) {
        List<String> missing = Interfaces.missing(asked, present);
        if (!present.isEmpty() && missing.size() == asked.split(",").length) {
            throw new UsageException(
                    "no-such-interface",
                    "--network-interfaces " + asked + ": " + host + " has no " + String.join(" and no ", missing)
                            + ", it has " + String.join(", ", new TreeSet<>(present)));
        }
    }

    /** Inside a Slurm job mpirun starts its helpers by srun; such nodes need not let anybody in by ssh. */
    private boolean startsByItself(String host) {
        return machine.allocated().stream().anyMatch(node -> node.host().equals(host));
    }

    private Set<String> names() {
        Set<String> names = new LinkedHashSet<>();
        hosts.stream()
                .map(HostSlots::host)
                .filter(host -> !machine.is(host))
                .filter(host -> !startsByItself(host))
                .forEach(names::add);
        return names;
    }
}
