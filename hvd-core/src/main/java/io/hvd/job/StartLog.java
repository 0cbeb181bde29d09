package io.hvd.job;

import io.hvd.config.HvdConfig;
import io.hvd.config.SlurmPlace;
import io.hvd.log.HvdLogger;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import io.hvd.transport.mpi.MpiProcess;
import java.util.List;
import java.util.Optional;

/** The log lines of a rank that has joined. */
final class StartLog {
    /** The logger that programs know. */
    private static final HvdLogger LOG = HvdLogger.of("io.hvd.Hvd");

    private StartLog() {}

    /** @param busyWaiters ranks of this host that keep a processor busy while they wait, if they wait in MPI */
    static void write(Membership member, int busyWaiters) {
        HvdConfig config = member.config();
        Optional<SlurmPlace> slurm = config.started().slurm();
        if (slurm.isPresent() || config.process().showRanks()) {
            LOG.notice(PlacementReport.of(
                    member.topology(), ProcessHandle.current().pid(), GpuAssignment.gpus(member.devices()), slurm));
        }
        if (member.topology().rank() == 0) {
            notes(config);
            slurm.filter(place -> MpiProcess.ofThisProcess().isStarted())
                    .flatMap(place -> place.waitingAdvice(busyWaiters))
                    .ifPresent(LOG::warn);
            job(member.topology(), member.description(), member.devices());
        }
    }

    static void notes(HvdConfig config) {
        config.notes().forEach(LOG::warn);
    }

    private static void job(Topology topology, String backend, List<Device> devices) {
        LOG.notice(
                "{} rank(s) on {}, back end {}, device of rank 0: {}",
                topology.size(),
                topology.hosts().stream().distinct().toList(),
                backend,
                devices.size() > 1 ? devices : devices.stream().findFirst().orElse(Device.CPU));
    }
}
