package io.hvd.doctor;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankFacts;
import io.hvd.doctor.Facts.Mpi;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.launch.Machine;
import io.hvd.launch.MachineSurvey;
import io.hvd.launch.MpiInstall;
import io.hvd.launch.UsageException;
import io.hvd.transport.mpi.MpiProvider;
import io.hvd.transport.nccl.GpuReport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Gathers the facts of this host; looks, and judges nothing. */
final class Probe {

    private final Path root;
    private final Map<String, String> environment;
    private final String sshPath;

    /**
     * @param root the root directory; a test gives another
     * @param sshPath the PATH that a command gets from ssh on this host
     */
    Probe(Path root, Map<String, String> environment, String sshPath) {
        this.root = root;
        this.environment = environment;
        this.sshPath = sshPath;
    }

    Facts facts(Wire.Opening opening) {
        Map<String, String> all = new HashMap<>(environment);
        all.putAll(opening.settings());
        Machine machine = new MachineSurvey(root, all).survey(List.of());
        var network = new NetworkProbe(root);
        var memory = new MemoryProbe(root);
        Map<String, String> values = Map.of();
        String badSetting = "";
        long direct = 0;
        String jar = "";
        String jarObstacle = "";
        boolean bindings = true;
        try {
            HvdConfig config = HvdConfig.from(all);
            values = RankFacts.gather(all).values();
            direct = config.engine().fusionThresholdBytes() + config.memory().stageBytes();
            jar = MpiProvider.jar(config).toString();
        } catch (HvdException e) {
            badSetting = e.id() == ErrorId.BAD_SETTING ? e.getMessage() : "";
            jarObstacle = e.getMessage();
            bindings = e.id() != ErrorId.NO_OPEN_MPI;
        }
        return new Facts(
                mpi(all, jar, jarObstacle, bindings),
                values,
                badSetting,
                GpuReport.ofThisProcess(),
                new Facts.Memory(memory.total(), Runtime.getRuntime().maxMemory(), direct),
                new FolderProbe(root, all).folders(),
                new LimitProbe(root).limits(machine.cores(), machine.fabric().orElse("")),
                network.names(machine.hostname(), opening.hosts()),
                network.network(opening.interfaces()));
    }

    private Mpi mpi(Map<String, String> all, String jar, String jarObstacle, boolean bindings) {
        try {
            MpiInstall install = MpiInstall.find(all);
            String daemon = install.version().startsWithPrrte() ? "prted" : "orted";
            return new Mpi(
                    install.mpirun().toString(),
                    install.version().text(),
                    "",
                    install.version().runsHvd(),
                    daemon,
                    daemonPath(daemon, all),
                    jar,
                    jarObstacle,
                    bindings);
        } catch (UsageException e) {
            return new Mpi("", "", e.getMessage(), false, "orted", "", jar, jarObstacle, bindings);
        }
    }

    /** An Open MPI that is named by its prefix starts the daemon from there; otherwise the PATH counts. */
    private String daemonPath(String daemon, Map<String, String> all) {
        String home = all.getOrDefault("HVD_OPENMPI_HOME", "");
        if (!home.isEmpty()) {
            Path program = Path.of(home, "bin", daemon);
            return Files.isExecutable(program) ? program.toString() : "";
        }
        return MpiInstall.onPath(daemon, Map.of("PATH", sshPath))
                .map(Path::toString)
                .orElse("");
    }
}
