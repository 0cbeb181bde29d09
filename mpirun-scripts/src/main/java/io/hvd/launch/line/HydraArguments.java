package io.hvd.launch.line;

import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.options.Assignment;
import io.hvd.launch.words.Argument;
import io.hvd.launch.words.UsageException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The mpirun line for Hydra, the launcher of MPICH and Intel MPI. It is for reading and for programs without hvd:
 * hvd itself needs the Java bindings of Open MPI.
 */
final class HydraArguments {

    private final JobFacts job;
    private final boolean intel;

    HydraArguments(JobFacts job) {
        this.job = job;
        this.intel = job.version().flavour() == MpiVersion.Flavour.INTEL;
    }

    List<Argument> arguments() {
        List<Argument> arguments = new ArrayList<>();
        arguments.addAll(environment());
        arguments.addAll(ssh());
        job.settings()
                .network()
                .interfaces()
                .ifPresent(list -> arguments.add(Argument.of("network interface asked for", "-iface", first(list))));
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

    private List<Argument> environment() {
        List<Argument> arguments = new ArrayList<>();
        for (Assignment assignment : job.settings().assignments()) {
            arguments.add(Argument.of(assignment.origin(), "-genv", assignment.variable(), assignment.value()));
        }
        if (job.settings().network().tcpOnly()) {
            arguments.add(Argument.of("--tcp: libfabric takes TCP", "-genv", "FI_PROVIDER", "tcp"));
        }
        if (!job.allRanksHere()) {
            var exports = new Exports(job);
            arguments.add(
                    Argument.of("the environment of this shell", "-genvlist", String.join(",", exports.forwarded())));
            exports.keptBack().ifPresent(arguments::add);
        }
        return arguments;
    }

    private List<Argument> ssh() {
        List<String> words = job.settings().ssh().words();
        if (words.isEmpty()) {
            return List.of();
        }
        String variable = intel ? "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS" : "HYDRA_LAUNCHER_EXTRA_ARGS";
        return List.of(Argument.note("ssh as asked for: Hydra takes it from the environment, " + variable + "=\""
                + String.join(" ", words) + "\""));
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

    private static String first(String list) {
        return list.replaceFirst(",.*", "");
    }
}
