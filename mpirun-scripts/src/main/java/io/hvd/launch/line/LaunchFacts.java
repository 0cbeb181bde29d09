package io.hvd.launch.line;

import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.hosts.HostSource;
import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.mpi.UserChoices;
import io.hvd.launch.options.LaunchSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Everything that the start of a job depends on: the user's settings, the machine, MPI's version and the hosts. Files and the
 * whole environment are read once, when it is made: half of the launcher's classes ask for it.
 */
public final class LaunchFacts {

    private final LaunchSettings settings;
    private final MachineFacts machine;
    private final MpiVersion version;
    private final Map<String, Set<String>> others;
    private final UserChoices choices;
    private final Optional<HostSource> hostSource;

    /** A job on other hosts of which nothing is known but their names, if there are any. */
    public LaunchFacts(LaunchSettings settings, MachineFacts machine, MpiVersion version) {
        this(
                settings,
                machine,
                version,
                Map.of(),
                new UserChoices(settings.words().more(), machine.environment(), version),
                settings.hosts().isEmpty()
                        ? HostSource.of(version, settings.words().more(), machine.environment())
                        : Optional.empty());
    }

    private LaunchFacts(
            LaunchSettings settings,
            MachineFacts machine,
            MpiVersion version,
            Map<String, Set<String>> others,
            UserChoices choices,
            Optional<HostSource> hostSource) {
        this.settings = settings;
        this.machine = machine;
        this.version = version;
        this.others = others;
        this.choices = choices;
        this.hostSource = hostSource;
    }

    /** @param others names of the network interfaces of the other hosts, as far as they have been asked */
    public LaunchFacts with(Map<String, Set<String>> others) {
        return new LaunchFacts(settings, machine, version, others, choices, hostSource);
    }

    public LaunchSettings settings() {
        return settings;
    }

    public MachineFacts machine() {
        return machine;
    }

    MpiVersion version() {
        return version;
    }

    Map<String, Set<String>> others() {
        return others;
    }

    /** The user's own words for mpirun. */
    UserChoices choices() {
        return choices;
    }

    /** The source of mpirun's hosts; empty if they are named on its line, or it will know of this machine only. */
    Optional<HostSource> hostSource() {
        return hostSource;
    }

    /** The number of ranks on this machine: mpirun fills the hosts in their order. 0 if nobody here knows the hosts. */
    public int ranksHere() {
        List<HostSlots> hosts = hosts();
        if (hostSource.isEmpty() && hosts.isEmpty()) {
            return settings.ranks();
        }
        int left = settings.ranks();
        int here = 0;
        for (HostSlots host : hosts) {
            int placed = Math.min(left, host.slots());
            here += machine.is(host.host()) ? placed : 0;
            left -= placed;
        }
        return here;
    }

    /** The hosts in their order, as flags or another source name them; empty if nobody does. */
    public List<HostSlots> hosts() {
        return hostSource.map(HostSource::hosts).orElse(settings.hosts());
    }

    /**
     * A line for hosts that are there for this job and get no rank, which the user may not have meant; empty if there are
     * none, or another order than ours decides.
     */
    public Optional<String> idleHosts() {
        if (settings.words().binding().isPresent() || choices.source("map-by").isPresent()) {
            return Optional.empty();
        }
        int left = settings.ranks();
        List<String> idle = new ArrayList<>();
        List<HostSlots> hosts = hosts();
        for (HostSlots host : hosts) {
            if (left <= 0) {
                idle.add(host.host());
            }
            left -= host.slots();
        }
        return idle.isEmpty() || hosts.stream().anyMatch(host -> host.slots() == 0)
                ? Optional.empty()
                : Optional.of("-np " + settings.ranks() + " is fewer than the " + HostSlots.total(hosts) + " slots of "
                        + HostSlots.join(hosts) + ", which are filled in this order: no rank on "
                        + String.join(", ", idle));
    }

    /**
     * The job as the ranks are to find it: the number of processes, the fewest hosts that they can be on, and the place
     * that says so. Empty if the user's own words for mpirun say how many ranks there are.
     */
    public Optional<String> declared() {
        if (Stream.of("np", "n", "c").anyMatch(flag -> choices.source(flag).isPresent())) {
            return Optional.empty();
        }
        List<HostSlots> named = hosts();
        int hosts = named.isEmpty() || allowsCrowding() ? 1 : HostSlots.fewest(distinct(named), settings.ranks());
        String names = HostSlots.join(named);
        String source = hostSource
                .map(HostSource::name)
                .map(name -> name.contains(names) ? name : name + " (" + names + ")")
                .orElse(named.isEmpty() ? "-np " + settings.ranks() : "-H " + names);
        return Optional.of(settings.ranks() + " " + hosts + " " + source);
    }

    /** mpirun takes all names of this machine for one host. */
    private List<HostSlots> distinct(List<HostSlots> hosts) {
        Map<Boolean, List<HostSlots>> byPlace =
                hosts.stream().collect(Collectors.partitioningBy(host -> machine.is(host.host())));
        List<HostSlots> distinct = new ArrayList<>(byPlace.get(false));
        if (!byPlace.get(true).isEmpty()) {
            boolean known = byPlace.get(true).stream().noneMatch(host -> host.slots() == 0);
            distinct.add(new HostSlots(machine.hostname(), known ? HostSlots.total(byPlace.get(true)) : 0));
        }
        return distinct;
    }

    /** Whether the user has allowed more ranks on a host than it has slots. */
    boolean allowsCrowding() {
        return Stream.concat(
                        settings.words().more().stream(),
                        settings.words().binding().stream().flatMap(List::stream))
                .anyMatch(word -> word.toLowerCase(Locale.ROOT).contains("oversubscribe"));
    }

    public boolean allRanksHere() {
        return ranksHere() == settings.ranks();
    }

    /** Whether the user has given a variable a value, here or by {@code --mpi-args "-x NAME"}. */
    boolean isSet(String variable) {
        return machine.environment().containsKey(variable)
                || choices.source("-x " + variable).isPresent();
    }

    /** Names of the network interfaces of all hosts that are known. */
    Set<String> interfaces() {
        Set<String> all = new TreeSet<>(machine.interfaces());
        others.values().forEach(all::addAll);
        return all;
    }
}
