package io.hvd.launch.hosts;

import io.hvd.launch.mpi.LauncherParameter;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.mpi.ParameterFiles;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * The source from which mpirun takes a job's hosts if horovodrun's own flags name none: other words of its line, a resource
 * manager, or a default hostfile. Which of them an mpirun heeds depends on its version, and for PBS and LSF also on how
 * it was built; the ranks therefore compare at init where they are with what was declared here.
 *
 * @param name for a message
 * @param hosts those that are known; a host has 0 slots if nothing is said of them
 */
public record HostSource(String name, List<HostSlots> hosts) {

    private static final List<String> HOST_FLAGS = List.of("H", "host");
    private static final List<String> FILE_FLAGS = List.of("hostfile", "machinefile", "default-hostfile");
    private static final List<String> HYDRA_HOST_FLAGS = List.of("hosts", "host");
    private static final List<String> HYDRA_FILE_FLAGS = List.of("f", "hostfile", "machinefile");
    private static final String OF_ORTE = "openmpi-default-hostfile";
    private static final String OF_PRRTE = "prte-default-hostfile";

    public HostSource {
        hosts = List.copyOf(hosts);
    }

    /** Empty if mpirun will know of this machine only. */
    public static Optional<HostSource> of(
            MpiVersion version, List<String> mpiArguments, Map<String, String> environment) {
        return ofArguments(version, mpiArguments)
                .or(() -> ofSlurm(environment))
                .or(() -> ofPbs(environment))
                .or(() -> ofLsf(environment))
                .or(() -> ofGridEngine(environment))
                .or(() -> ofDefaultHostfile(version, environment));
    }

    private static Optional<HostSource> ofArguments(MpiVersion version, List<String> words) {
        for (int i = 0; i + 1 < words.size(); i++) {
            String flag = words.get(i).startsWith("-") ? words.get(i).replaceFirst("^--?", "") : "";
            String next = words.get(i + 1);
            if ((version.startsWithHydra() ? HYDRA_HOST_FLAGS : HOST_FLAGS).contains(flag)) {
                return Optional.of(new HostSource("--mpi-args " + words.get(i) + " " + next, HostWords.ofList(next)));
            }
            boolean parameter = flag.endsWith("mca") && next.equals(LauncherParameter.DEFAULT_HOSTFILE.name(version));
            if ((version.startsWithHydra() ? HYDRA_FILE_FLAGS : FILE_FLAGS).contains(flag)
                    || parameter && i + 2 < words.size()) {
                String file = parameter ? words.get(i + 2) : next;
                return Optional.of(
                        new HostSource("--mpi-args " + words.get(i) + " " + file, HostWords.ofHostfile(file)));
            }
        }
        return Optional.empty();
    }

    private static Optional<HostSource> ofSlurm(Map<String, String> environment) {
        return SlurmAllocation.of(environment).map(job -> new HostSource(job.name(), job.hosts()));
    }

    /** Open MPI looks at the other two variables before it believes the file. */
    private static Optional<HostSource> ofPbs(Map<String, String> environment) {
        return isSet(environment, "PBS_NODEFILE", "PBS_ENVIRONMENT", "PBS_JOBID")
                ? Optional.of(named("PBS_NODEFILE", environment, HostWords::slotPerLine))
                : Optional.empty();
    }

    private static Optional<HostSource> ofLsf(Map<String, String> environment) {
        return isSet(environment, "LSB_DJOB_HOSTFILE", "LSB_JOBID")
                ? Optional.of(named("LSB_DJOB_HOSTFILE", environment, HostWords::slotPerLine))
                : Optional.empty();
    }

    private static Optional<HostSource> ofGridEngine(Map<String, String> environment) {
        return isSet(environment, "PE_HOSTFILE", "SGE_ROOT", "ARC", "JOB_ID")
                ? Optional.of(named("PE_HOSTFILE", environment, HostWords::gridEngine))
                : Optional.empty();
    }

    private static Optional<HostSource> ofDefaultHostfile(MpiVersion version, Map<String, String> environment) {
        return switch (version.flavour()) {
            case OPEN_MPI -> ofOpenMpi(version, environment);
            case NONE -> ofAnyOpenMpi(environment);
            case HYDRA -> ofHydra("HYDRA_HOST_FILE", environment);
            case INTEL -> ofHydra("I_MPI_HYDRA_HOST_FILE", environment);
            case SPECTRUM -> Optional.empty();
        };
    }

    private static Optional<HostSource> ofHydra(String variable, Map<String, String> environment) {
        return isSet(environment, variable)
                ? Optional.of(named(variable, environment, HostWords::line))
                : Optional.empty();
    }

    private static Optional<HostSource> ofOpenMpi(MpiVersion version, Map<String, String> environment) {
        LauncherParameter parameter = LauncherParameter.DEFAULT_HOSTFILE;
        String own = parameter.variable(version);
        if (environment.containsKey(own)) {
            return isSet(environment, own)
                    ? Optional.of(named(own, environment, HostWords::line))
                    : Optional.empty(); // set to nothing, it turns those of the installation off
        }
        return parameter
                .foreign(version, environment)
                .map(other ->
                        new HostSource(other.variable() + "=" + other.value(), HostWords.ofHostfile(other.value())))
                .or(() -> ofInstallation(version.startsWithPrrte() ? OF_PRRTE : OF_ORTE, environment));
    }

    /** Where the launcher itself starts the ranks, it heeds what an Open MPI of any version would. */
    private static Optional<HostSource> ofAnyOpenMpi(Map<String, String> environment) {
        List<String> set = LauncherParameter.DEFAULT_HOSTFILE.variables().stream()
                .filter(environment::containsKey)
                .toList();
        if (set.isEmpty()) {
            return ofInstallation(OF_ORTE, environment).or(() -> ofInstallation(OF_PRRTE, environment));
        }
        return set.stream()
                .filter(variable -> isSet(environment, variable))
                .findFirst()
                .map(variable -> named(variable, environment, HostWords::line));
    }

    /** The file that an administrator has filled; as it is installed it has comments only. */
    private static Optional<HostSource> ofInstallation(String name, Map<String, String> environment) {
        Path file = ParameterFiles.folder(environment).resolve(name);
        List<HostSlots> hosts = HostWords.ofHostfile(file.toString());
        return hosts.isEmpty() ? Optional.empty() : Optional.of(new HostSource(file.toString(), hosts));
    }

    private static boolean isSet(Map<String, String> environment, String... names) {
        for (String name : names) {
            if (environment.getOrDefault(name, "").isBlank()) {
                return false;
            }
        }
        return true;
    }

    private static HostSource named(
            String variable, Map<String, String> environment, Function<String, HostSlots> reading) {
        String file = environment.get(variable);
        return new HostSource(variable + "=" + file, HostWords.read(file, reading));
    }
}
