package io.hvd.doctor.facts;

import io.hvd.doctor.facts.Facts.Mpi;
import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.hosts.MachineSurvey;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.words.UsageException;
import io.hvd.transport.nccl.report.GpuReport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** Gathers the facts of this host; looks, and judges nothing. */
public final class Probe {

    /** Of the launcher, and of its script for other hosts. */
    private static final List<String> START_PROGRAMS =
            List.of("sh", "dd", "grep", "mkfifo", "mktemp", "rm", "setsid", "sleep");

    private final Path root;
    private final Map<String, String> environment;
    private final String sshPath;

    /**
     * @param root the root directory; a test gives another
     * @param sshPath the PATH that a command gets from ssh on this host
     */
    public Probe(Path root, Map<String, String> environment, String sshPath) {
        this.root = root;
        this.environment = environment;
        this.sshPath = sshPath;
    }

    /**
     * Everything at once.
     *
     * @param hosts the host list
     * @param handedOn variables that horovodrun would hand on
     * @param interfaces comma list asked for, or empty
     */
    public Facts facts(List<String> hosts, Map<String, String> handedOn, String interfaces) {
        Map<String, String> all = new HashMap<>(environment);
        all.putAll(handedOn);
        MachineFacts machine = new MachineSurvey(root, all).survey(List.of());
        var network = new NetworkProbe(root);
        var memory = new MemoryProbe(root);
        var settings = SettingFacts.of(all);
        return new Facts(
                mpi(all, settings),
                START_PROGRAMS.stream()
                        .filter(program -> MpiInstall.onPath(program, Map.of("PATH", sshPath))
                                .isEmpty())
                        .toList(),
                settings.values(),
                settings.bad(),
                GpuReport.ofThisProcess(),
                new Facts.Memory(memory.total(), Runtime.getRuntime().maxMemory(), settings.directBytes()),
                new FolderProbe(root, all).folders(),
                new LimitProbe(root).limits(machine.cores(), machine.fabric().orElse("")),
                network.names(machine.hostname(), hosts),
                network.network(interfaces));
    }

    private Mpi mpi(Map<String, String> all, SettingFacts settings) {
        try {
            MpiInstall install = MpiInstall.find(all);
            MpiVersion version = install.version();
            String daemon =
                    version.startsWithHydra() ? "hydra_pmi_proxy" : version.startsWithPrrte() ? "prted" : "orted";
            OptionalInt java = OptionalInt.of(Runtime.version().feature());
            return new Mpi(
                    install.mpirun().toString(),
                    version.text(),
                    "",
                    version.obstacle(java).orElse(""),
                    daemon,
                    version.startsWithHydra() ? beside(install.mpirun(), daemon) : daemonPath(daemon, all),
                    settings.jar(),
                    settings.jarObstacle(),
                    settings.bindings(),
                    settings.foreign());
        } catch (UsageException e) {
            return new Mpi(
                    "",
                    "",
                    e.getMessage(),
                    "",
                    "orted",
                    "",
                    settings.jar(),
                    settings.jarObstacle(),
                    settings.bindings(),
                    settings.foreign());
        }
    }

    /** Hydra looks for its daemon in the folder in which it was itself called. */
    private static String beside(Path mpirun, String daemon) {
        Path program = mpirun.resolveSibling(daemon);
        return Files.isExecutable(program) ? program.toString() : "";
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
