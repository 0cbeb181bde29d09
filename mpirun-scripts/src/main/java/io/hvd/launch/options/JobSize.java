package io.hvd.launch.options;

import io.hvd.launch.hosts.HostDiscovery;
import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.hosts.SlurmAllocation;
import io.hvd.launch.words.UsageException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** The number of ranks of a job and the hosts that flags name for them, as flags, Slurm and LSF say together. */
record JobSize(List<FlagValue> given, Map<String, String> environment) {

    private static final String LSF_SLOTS = "LSB_DJOB_NUMPROC";

    /**
     * The number of ranks to start.
     *
     * @throws UsageException if nobody says so, or the hosts have fewer slots
     */
    int ranks(List<HostSlots> hosts) {
        int ranks = ranks();
        checkSlots(ranks, hosts);
        return ranks;
    }

    private int ranks() {
        return FlagValue.last(given, Flag.NUM_PROC)
                .or(this::slurmTasks)
                .or(() -> Optional.ofNullable(environment.get(LSF_SLOTS))
                        .map(slots -> new FlagValue(Flag.NUM_PROC, slots, LSF_SLOTS)))
                .map(one -> one.number(1, Integer.MAX_VALUE))
                .orElseThrow(() ->
                        new UsageException("np-missing", "-np is missing: say how many ranks to start, as in -np 4"));
    }

    /** As many as srun would start of itself, unless hosts are named. */
    private Optional<FlagValue> slurmTasks() {
        return has(Flag.HOSTS) || has(Flag.HOSTFILE)
                ? Optional.empty()
                : SlurmAllocation.of(environment)
                        .flatMap(job -> job.tasks(environment))
                        .map(tasks -> new FlagValue(Flag.NUM_PROC, tasks.toString(), SlurmAllocation.COUNT));
    }

    /** The number of ranks that a flag or a resource manager asks for; empty if none does. */
    Optional<Integer> asked() {
        return FlagValue.last(given, Flag.NUM_PROC).isPresent()
                        || slurmTasks().isPresent()
                        || environment.containsKey(LSF_SLOTS)
                ? Optional.of(ranks())
                : Optional.empty();
    }

    /** The hosts that are named by flags, in order; empty if none are. */
    List<HostSlots> hosts() {
        Optional<HostDiscovery> discovery = new ElasticFlags(given).discovery();
        if (discovery.isPresent() && (has(Flag.HOSTS) || has(Flag.HOSTFILE))) {
            throw new UsageException(
                    "hosts-twice",
                    "--host-discovery-script says which hosts there are, and so does -H or --hostfile; give one of"
                            + " them");
        }
        if (discovery.isPresent()) {
            return discovery.get().first();
        }
        Optional<String> list = value(Flag.HOSTS);
        Optional<String> file = value(Flag.HOSTFILE);
        if (list.isPresent() && file.isPresent()) {
            throw new UsageException(
                    "hosts-twice",
                    "-H " + list.get() + " and --hostfile " + file.get() + " are mutually exclusive; give one of them");
        }
        return list.map(HostSlots::parse)
                .or(() -> file.map(name -> HostSlots.readFile(Path.of(name))))
                .orElse(List.of());
    }

    private void checkSlots(int ranks, List<HostSlots> hosts) {
        int slots = HostSlots.total(hosts);
        if (hosts.isEmpty()) {
            SlurmAllocation.of(environment).ifPresent(job -> checkSlots(ranks, job));
        }
        if (hosts.isEmpty() || ranks <= slots) {
            return;
        }
        String source = value(Flag.HOSTFILE).map(name -> "--hostfile " + name).orElse("-H " + HostSlots.join(hosts));
        throw new UsageException(
                "np-exceeds-slots",
                "-np " + ranks + " requests " + ranks + " ranks, but " + source + " has " + slots + " slots");
    }

    /** mpirun would refuse them too, unless it is told to crowd the nodes. */
    private void checkSlots(int ranks, SlurmAllocation job) {
        int slots = HostSlots.total(job.hosts());
        boolean crowding =
                value(Flag.MPI_ARGS).orElse("").toLowerCase(Locale.ROOT).contains("oversubscribe");
        if (slots > 0 && ranks > slots && !crowding) {
            throw new UsageException(
                    "np-exceeds-slots",
                    "-np " + ranks + " requests " + ranks + " ranks, but " + job.name() + " has " + slots
                            + " slots; ask Slurm for more tasks, by #SBATCH --ntasks-per-node");
        }
    }

    private boolean has(Flag flag) {
        return FlagValue.has(given, flag);
    }

    private Optional<String> value(Flag flag) {
        return FlagValue.value(given, flag);
    }
}
