package io.hvd.launch.line;

import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.options.Assignment;
import io.hvd.launch.words.Argument;
import io.hvd.launch.words.UsageException;
import io.hvd.net.Interfaces;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The mpirun line for Hydra, the launcher of MPICH and Intel MPI. Hydra binds no rank unless it is told to, lets ranks share
 * cores, and hands its whole environment on to all hosts unless it is told what.
 */
final class HydraArguments {

    private final LaunchFacts job;
    private final boolean intel;

    HydraArguments(LaunchFacts job) {
        this.job = job;
        this.intel = job.version().flavour() == MpiVersion.Flavour.INTEL;
    }

    List<Argument> arguments() {
        List<Argument> arguments = new ArrayList<>();
        arguments.addAll(environment());
        arguments.addAll(network());
        environment(job)
                .forEach((name, value) -> arguments.add(Argument.note(
                        "ssh as asked for: Hydra takes it from the environment, " + name + "=\"" + value + "\"")));
        if (job.settings().output().prefixed()) {
            arguments.add(Argument.of("rank before each line; Hydra knows no time", "-prepend-rank"));
        }
        arguments.add(Argument.of(
                "ranks asked for", "-np", Integer.toString(job.settings().ranks())));
        if (!job.settings().hosts().isEmpty()) {
            arguments.addAll(hosts());
        }
        arguments.add(job.settings()
                .words()
                .binding()
                .map(words -> new Argument(words, "--binding-args"))
                .orElse(binding()));
        return arguments;
    }

    /** What Hydra itself takes from its environment. */
    static Map<String, String> environment(LaunchFacts job) {
        List<String> words = job.settings().ssh().words();
        if (words.isEmpty() || !job.version().startsWithHydra()) {
            return Map.of();
        }
        boolean intel = job.version().flavour() == MpiVersion.Flavour.INTEL;
        return Map.of(
                intel ? "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS" : "HYDRA_LAUNCHER_EXTRA_ARGS", String.join(" ", words));
    }

    private List<Argument> environment() {
        List<Argument> arguments = new ArrayList<>();
        for (Assignment assignment : job.settings().assignments()) {
            arguments.add(Argument.of(assignment.origin(), "-genv", assignment.variable(), assignment.value()));
        }
        if (!job.allRanksHere()) {
            var exports = new Exports(job);
            List<String> names = Stream.concat(Exports.OF_LAUNCHER.stream(), exports.forwarded().stream())
                    .toList();
            arguments.add(Argument.of("the environment of this shell", "-genvlist", String.join(",", names)));
            exports.keptBack().ifPresent(arguments::add);
        }
        return arguments;
    }

    /** UCX and libfabric carry MPICH's data, one or the other as it was built, and libfabric Intel's. */
    private List<Argument> network() {
        List<Argument> arguments = new ArrayList<>();
        boolean tcpOnly = job.settings().network().tcpOnly();
        if (tcpOnly) {
            set(arguments, "FI_PROVIDER", "tcp", "--tcp: libfabric takes TCP");
            set(arguments, "UCX_TLS", "tcp,sm,self", "--tcp: UCX takes TCP between hosts");
        }
        set(arguments, "UCX_ERROR_SIGNALS", "", "UCX keeps off the signals that the JVM handles");
        job.settings().network().interfaces().ifPresent(list -> {
            List<String> names = Interfaces.names(list);
            if (!names.isEmpty()) {
                String asked = "network interfaces asked for";
                arguments.add(Argument.of(asked + ", for start-up", "-iface", names.get(0)));
                set(arguments, "FI_TCP_IFACE", names.get(0), asked + ", for libfabric");
                set(arguments, "UCX_NET_DEVICES", String.join(",", names), asked + ", for UCX");
            }
        });
        new InterfaceChoice(job).variables().forEach(one -> {
            String[] parts = one.words().get(1).split("=", 2);
            arguments.add(Argument.of(one.reason(), "-genv", parts[0], parts[1]));
        });
        return arguments;
    }

    private void set(List<Argument> arguments, String variable, String value, String reason) {
        if (!job.isSet(variable)) {
            arguments.add(Argument.of(reason, "-genv", variable, value));
        }
    }

    private List<Argument> hosts() {
        List<HostSlots> hosts = job.settings().hosts();
        if (!intel) {
            return List.of(Argument.of("hosts and slots asked for", "-hosts", HostSlots.join(hosts)));
        }
        Set<Integer> slots = new TreeSet<>();
        hosts.forEach(host -> slots.add(host.slots()));
        if (slots.size() > 1) {
            throw new UsageException(
                    "uneven-slots",
                    "Intel MPI takes one number of ranks for all hosts, but " + HostSlots.join(hosts) + " has " + slots
                            + "; give each host as many slots, or its own --mpi-args=\"-machinefile FILE\" without -H");
        }
        return List.of(
                Argument.of(
                        "hosts asked for",
                        "-hosts",
                        hosts.stream().map(HostSlots::host).collect(Collectors.joining(","))),
                Argument.of("slots asked for", "-ppn", slots.iterator().next().toString()));
    }

    private Argument binding() {
        String reason = "a rank bound to one core would give the JVM one processor";
        return intel ? Argument.of(reason, "-genv", "I_MPI_PIN", "off") : Argument.of(reason, "-bind-to", "none");
    }
}
