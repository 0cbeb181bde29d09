package io.hvd.launch;

import java.util.ArrayList;
import java.util.List;

/** The part of the mpirun line that says how many ranks run where, on which cores, and how they wait. */
final class Placement {

    /** One trains, one communicates: neither may keep a core from the other by spinning. */
    private static final int BUSY_THREADS_PER_RANK = 2;

    private final Job job;
    private final UserChoices choices;

    Placement(Job job) {
        this.job = job;
        this.choices = job.choices();
    }

    List<Argument> arguments() {
        List<Argument> arguments = new ArrayList<>();
        arguments.add(Argument.of(
                "ranks asked for", "-np", Integer.toString(job.settings().ranks())));
        arguments.add(hosts());
        arguments.add(binding());
        arguments.addAll(mapping());
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
        return job.machine()
                .allocation()
                .map(who -> Argument.note("hosts: mpirun takes those of " + who))
                .orElse(Argument.note("hosts: this machine"));
    }

    private Argument binding() {
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
