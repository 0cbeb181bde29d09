package io.hvd.launch.line;

import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.mpi.LauncherParameter;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.mpi.UserChoices;
import io.hvd.launch.words.Argument;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The part of the mpirun line that says how many ranks run where, on which cores, and how they wait. */
final class RankPlacement {

    /** One trains, one communicates: neither may keep a core from the other by spinning. */
    private static final int BUSY_THREADS_PER_RANK = 2;

    private final JobFacts job;
    private final UserChoices choices;

    RankPlacement(JobFacts job) {
        this.job = job;
        this.choices = job.choices();
    }

    List<Argument> arguments() {
        List<Argument> arguments = new ArrayList<>();
        arguments.add(Argument.of(
                "ranks asked for", "-np", Integer.toString(job.settings().ranks())));
        arguments.add(hosts());
        arguments.addAll(job.settings().words().binding().map(this::asked).orElseGet(this::ours));
        if (BUSY_THREADS_PER_RANK * job.ranksHere() > job.machine().cores()) {
            arguments.add(waiting());
        }
        return arguments;
    }

    private Argument hosts() {
        List<HostSlots> hosts = job.settings().hosts();
        if (!hosts.isEmpty()) {
            return Argument.of("hosts and slots asked for", "-H", HostSlots.join(hosts));
        }
        return job.hostSource()
                .map(source -> foreignHostfile()
                        .orElseGet(() -> Argument.note("hosts: mpirun takes those of " + source.name())))
                .orElse(Argument.note("hosts: this machine"));
    }

    /** The default hostfile is only asked where nothing of more weight names the hosts. */
    private Optional<Argument> foreignHostfile() {
        return LauncherParameter.DEFAULT_HOSTFILE
                .foreign(job.version(), job.machine().environment())
                .filter(other -> job.hostSource()
                        .filter(source -> source.name().startsWith(other.variable()))
                        .isPresent())
                .map(other -> other.argument(job.version()));
    }

    private List<Argument> ours() {
        List<Argument> arguments = new ArrayList<>(List.of(binding()));
        arguments.addAll(mapping());
        return arguments;
    }

    /** As in Horovod, the user's words take the place of both binding and mapping. */
    private List<Argument> asked(List<String> words) {
        Argument binding = new Argument(words, "--binding-args, instead of --bind-to none --map-by slot");
        if (!exceedsSlots() || choices.source("oversubscribe").isPresent()) {
            return List.of(binding);
        }
        if (!job.version().startsWithPrrte()) {
            return List.of(binding, Argument.of(crowdedReason(), "--oversubscribe"));
        }
        boolean mapped =
                new UserChoices(words, Map.of(), job.version()).source("map-by").isPresent();
        return mapped
                ? List.of(
                        binding,
                        Argument.note("the mapping in --binding-args must end in :OVERSUBSCRIBE; " + crowdedReason()))
                : List.of(binding, Argument.of(crowdedReason(), "--map-by", ":OVERSUBSCRIBE"));
    }

    private Argument binding() {
        if (job.version().flavour() == MpiVersion.Flavour.SPECTRUM
                && choices.source("bind-to").isEmpty()) {
            return Argument.of("as Horovod does it under IBM Spectrum MPI", "--bind-to", "socket");
        }
        return choices.source("bind-to")
                .map(source -> Argument.note("binding: as set by " + source))
                .orElse(Argument.of("a rank bound to one core would give the JVM one processor", "--bind-to", "none"));
    }

    private List<Argument> mapping() {
        var chosen = choices.source("map-by").map(source -> Argument.note("mapping: as set by " + source));
        boolean prrte = job.version().startsWithPrrte();
        boolean crowded = exceedsSlots() && choices.source("oversubscribe").isEmpty();
        String order = "fills each host before the next, so that neighbouring ranks share a host";
        if (crowded && prrte && chosen.isEmpty()) {
            return List.of(Argument.of(order + "; " + crowdedReason(), "--map-by", "slot:OVERSUBSCRIBE"));
        }
        Argument mapBySlot = chosen.orElse(Argument.of(order, "--map-by", "slot"));
        return crowded && !prrte
                ? List.of(mapBySlot, Argument.of(crowdedReason(), "--oversubscribe"))
                : List.of(mapBySlot);
    }

    /** With hosts named the slots are known to suffice; where a resource manager decides, so does its count. */
    private boolean exceedsSlots() {
        return job.settings().hosts().isEmpty()
                && job.hostSource().isEmpty()
                && job.ranksHere() > job.machine().cores();
    }

    private String crowdedReason() {
        return "mpirun refuses more ranks than cores otherwise: " + ranksAndCores();
    }

    /** Open MPI waits by spinning, and does not notice by itself that ranks share cores when slots are named. */
    private Argument waiting() {
        String parameter = "mpi_yield_when_idle";
        return choices.source(parameter)
                .map(source -> Argument.note("waiting: as set by " + source))
                .orElse(Argument.of(
                        "ranks that wait give up their core, each has " + BUSY_THREADS_PER_RANK + " busy threads: "
                                + ranksAndCores(),
                        "--mca",
                        parameter,
                        "1"));
    }

    private String ranksAndCores() {
        return job.ranksHere() + " ranks here, " + job.machine().cores() + " cores";
    }
}
