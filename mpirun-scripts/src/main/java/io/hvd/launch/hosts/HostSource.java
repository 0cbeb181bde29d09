package io.hvd.launch.hosts;

import io.hvd.file.RegularFile;
import io.hvd.launch.mpi.LauncherParameter;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.mpi.MpiVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where mpirun takes a job's hosts from if horovodrun's own flags name none: what its line says besides, a resource
 * manager, or a default hostfile. Which of them an mpirun heeds depends on its version, and for PBS and LSF also on how
 * it was built; the ranks therefore compare at init where they are with what was declared here.
 *
 * @param name for a message
 * @param hosts those that are known; a host has 0 slots if nothing is said of them
 */
public record HostSource(String name, List<HostSlots> hosts) {

    private static final int UNKNOWN = 0;
    private static final Pattern SLOTS = Pattern.compile("\\bslots\\s*=\\s*(\\d{1,7})\\b");
    private static final List<String> HOST_FLAGS = List.of("H", "host");
    private static final List<String> FILE_FLAGS = List.of("hostfile", "machinefile", "default-hostfile");

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

    /** The fewest hosts on which this many ranks can be, unless hosts are crowded. */
    public static int fewest(List<HostSlots> hosts, int ranks) {
        if (hosts.stream().anyMatch(host -> host.slots() == UNKNOWN)) {
            return 1;
        }
        int left = ranks;
        int count = 0;
        for (HostSlots host : hosts.stream()
                .sorted((one, other) -> Integer.compare(other.slots(), one.slots()))
                .toList()) {
            if (left > 0) {
                count++;
                left -= host.slots();
            }
        }
        return Math.max(1, count);
    }

    private static Optional<HostSource> ofArguments(MpiVersion version, List<String> words) {
        for (int i = 0; i + 1 < words.size(); i++) {
            String flag = words.get(i).startsWith("-") ? words.get(i).replaceFirst("^--?", "") : "";
            String next = words.get(i + 1);
            if (HOST_FLAGS.contains(flag)) {
                return Optional.of(new HostSource("--mpi-args " + words.get(i) + " " + next, list(next)));
            }
            boolean parameter = flag.endsWith("mca") && next.equals(LauncherParameter.DEFAULT_HOSTFILE.name(version));
            if (FILE_FLAGS.contains(flag) || parameter && i + 2 < words.size()) {
                String file = parameter ? words.get(i + 2) : next;
                return Optional.of(new HostSource("--mpi-args " + words.get(i) + " " + file, file(file)));
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
                ? Optional.of(named("PBS_NODEFILE", environment, HostSource::slotPerLine))
                : Optional.empty();
    }

    private static Optional<HostSource> ofLsf(Map<String, String> environment) {
        return isSet(environment, "LSB_DJOB_HOSTFILE", "LSB_JOBID")
                ? Optional.of(named("LSB_DJOB_HOSTFILE", environment, HostSource::slotPerLine))
                : Optional.empty();
    }

    private static Optional<HostSource> ofGridEngine(Map<String, String> environment) {
        return isSet(environment, "PE_HOSTFILE", "SGE_ROOT", "ARC", "JOB_ID")
                ? Optional.of(named("PE_HOSTFILE", environment, HostSource::gridEngine))
                : Optional.empty();
    }

    private static Optional<HostSource> ofDefaultHostfile(MpiVersion version, Map<String, String> environment) {
        if (version.flavour() != MpiVersion.Flavour.OPEN_MPI) {
            return Optional.empty();
        }
        LauncherParameter parameter = LauncherParameter.DEFAULT_HOSTFILE;
        String own = parameter.variable(version);
        if (environment.containsKey(own)) {
            return isSet(environment, own)
                    ? Optional.of(named(own, environment, HostSource::line))
                    : Optional.empty(); // set to nothing, it turns those of the installation off
        }
        return parameter
                .foreign(version, environment)
                .map(other -> new HostSource(other.variable() + "=" + other.value(), file(other.value())))
                .or(() -> ofInstallation(version, environment));
    }

    /** The file that an administrator has filled; as it is installed it has comments only. */
    private static Optional<HostSource> ofInstallation(MpiVersion version, Map<String, String> environment) {
        Path file = folder(environment)
                .resolve(version.startsWithPrrte() ? "prte-default-hostfile" : "openmpi-default-hostfile");
        List<HostSlots> hosts = file(file.toString());
        return hosts.isEmpty() ? Optional.empty() : Optional.of(new HostSource(file.toString(), hosts));
    }

    /** Where an Open MPI has its settings: below its prefix, or, as a part of the system, in /etc. */
    private static Path folder(Map<String, String> environment) {
        String home = environment.getOrDefault("HVD_OPENMPI_HOME", "");
        Optional<Path> prefix = home.isEmpty()
                ? MpiInstall.onPath("mpirun", environment)
                        .map(mpirun -> mpirun.toAbsolutePath().getParent().getParent())
                : Optional.of(Path.of(home));
        Path system = Path.of("/etc/openmpi");
        return prefix.filter(path -> !path.equals(Path.of("/usr")) && Files.isDirectory(path.resolve("etc")))
                .map(path -> path.resolve("etc"))
                .orElse(system);
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
        return new HostSource(variable + "=" + file, read(file, reading));
    }

    private static List<HostSlots> file(String file) {
        return read(file, HostSource::line);
    }

    /** A file that cannot be read says nothing of the hosts; mpirun will name it. What is in a pipe is there once, for mpirun. */
    private static List<HostSlots> read(String file, Function<String, HostSlots> reading) {
        try {
            List<HostSlots> found = new ArrayList<>();
            for (String line : Files.readAllLines(RegularFile.at(Path.of(file)))) {
                String said = line.split("#", 2)[0].strip();
                if (!said.isEmpty()) {
                    found.add(reading.apply(said));
                }
            }
            return merged(found);
        } catch (IOException | RuntimeException e) {
            return List.of();
        }
    }

    private static List<HostSlots> list(String hosts) {
        List<HostSlots> found = new ArrayList<>();
        for (String one : hosts.split(",")) {
            String[] parts = one.strip().split(":", 2);
            // In such a list a bare name is one slot.
            found.add(new HostSlots(parts[0], parts.length < 2 ? 1 : slots(parts[1])));
        }
        return merged(found);
    }

    private static HostSlots line(String line) {
        Matcher slots = SLOTS.matcher(line);
        String[] host = firstWord(line).split(":", 2);
        return new HostSlots(
                host[0], slots.find() ? Integer.parseInt(slots.group(1)) : host.length < 2 ? UNKNOWN : slots(host[1]));
    }

    private static HostSlots slotPerLine(String line) {
        return new HostSlots(firstWord(line), 1);
    }

    private static HostSlots gridEngine(String line) {
        String[] words = line.split("\\s+");
        return new HostSlots(words[0], words.length < 2 ? UNKNOWN : slots(words[1]));
    }

    private static String firstWord(String line) {
        return line.split("\\s+")[0].replaceFirst("^.*@", "");
    }

    private static int slots(String number) {
        return number.matches("\\d{1,7}") ? Integer.parseInt(number) : UNKNOWN;
    }

    private static List<HostSlots> merged(List<HostSlots> hosts) {
        if (hosts.isEmpty()) {
            return hosts;
        }
        Map<String, Integer> slots = new LinkedHashMap<>();
        hosts.forEach(host -> slots.merge(
                host.host(), host.slots(), (some, more) -> some == UNKNOWN || more == UNKNOWN ? UNKNOWN : some + more));
        return slots.entrySet().stream()
                .map(one -> new HostSlots(one.getKey(), one.getValue()))
                .toList();
    }
}
