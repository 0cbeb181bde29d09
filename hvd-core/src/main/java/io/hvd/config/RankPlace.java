package io.hvd.config;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.net.HandshakeListener;
import io.hvd.net.HostAddress;
import io.hvd.net.LauncherAddress;
import io.hvd.net.PortRange;
import java.net.InetSocketAddress;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * This process's place among ranks that no MPI needs to connect, as the variables of its launcher tell it.
 *
 * @param source the variables that tell rank and size, for messages
 * @param meeting where the ranks find each other; empty if nothing tells it
 */
public record RankPlace(int rank, int size, String source, Optional<Meeting> meeting) {
    /**
     * Variables for the number of a process, how many there are, and the launcher's job, which not all of them name; the
     * nearest launcher comes first.
     */
    private static final List<List<String>> VARIABLES = List.of(
            List.of("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"),
            List.of("PMI_RANK", "PMI_SIZE", ""),
            List.of("HOROVOD_RANK", "HOROVOD_SIZE", ""),
            List.of("RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"),
            List.of("JOB_COMPLETION_INDEX", "HOROVOD_SIZE", ""));

    /** What horovodrun writes before its own address. */
    public static final String LAUNCHER = "launcher=";
    /** The same for an elastic job, whose coordinator is there. */
    public static final String ELASTIC = "elastic=";

    private static final Pattern ADDRESS = Pattern.compile("(?:\\[([^\\[\\]]+)]|([^:\\[\\]]+)):(\\d{1,5})");
    /** The first comma that is in no brackets ends the first name. */
    private static final Pattern FIRST_HOST = Pattern.compile("((?:[^,\\[]|\\[[^\\]]*])+).*");

    private static final Pattern NUMBERS = Pattern.compile("\\[(\\d+)[^\\]]*]");
    private static final int LAST_PORT = 65_535;
    /** Linux gives none of them to a connection by itself. */
    private static final PortRange OWN_PORTS = new PortRange(20_000, 29_999);

    /** Of ports that nobody has named, so that other programs may have some of them. */
    private static final int CHOICE_OF_PORTS = 4;

    /** What Open MPI 5 and later call a job: by the host and the process of its mpirun. */
    private static final Pattern PRRTE_JOB = Pattern.compile("prterun-(.+)-\\d+@\\d+");
    /** Where Open MPI 4's mpirun listens. */
    private static final Pattern ORTE_ADDRESSES = Pattern.compile("tcp6?://([^;]+):\\d+");

    /** Where the ranks of a job find each other. */
    public sealed interface Meeting permits AtRankZero, OnOneHost, AtLauncher, AtCoordinator {}

    /**
     * Rank 0 listens at the first of these ports that is free on its host.
     *
     * @param hosts names or addresses of its host
     * @param key the place, which all ranks name alike
     * @param job the launcher's name of the job; empty if it gives none
     * @param source the variable that says so
     */
    public record AtRankZero(List<String> hosts, List<Integer> ports, String key, String job, String source)
            implements Meeting {
        public AtRankZero {
            hosts = List.copyOf(hosts);
            ports = List.copyOf(ports);
        }

        /** Recognises the ranks of this job, even where two jobs have one place and one secret. */
        public Secret secret(Optional<Secret> given) {
            return given.orElseGet(() -> Secret.of(key)).within(job);
        }

        /** Without what the secret may be made of. */
        @Override
        public String toString() {
            return "at rank 0, by " + source;
        }
    }

    /** All ranks are on one host, where rank 0 leaves a file for the others. @param key names the job on its host */
    public record OnOneHost(String key) implements Meeting {
        @Override
        public String toString() {
            return "by a file of this host";
        }
    }

    /**
     * horovodrun has started the ranks, and lets them meet.
     *
     * @param address its address in the form of {@link io.hvd.net.LauncherAddress}, with a secret
     */
    public record AtLauncher(String address) implements Meeting {
        @Override
        public String toString() {
            return "at the launcher";
        }
    }

    /**
     * The job is elastic: its coordinator says who meets where, one generation after the other.
     *
     * @param address the coordinator's, in the form of {@link LauncherAddress}, with a secret; or host:port, without one, if
     *     the job's workers come by themselves
     * @param worker the number that horovodrun has given this process; empty if the coordinator gives it one
     */
    public record AtCoordinator(String address, OptionalInt worker) implements Meeting {
        private static AtCoordinator of(String address, int rank) {
            if (isOfLauncher(address)) {
                return new AtCoordinator(address, OptionalInt.of(rank));
            }
            hostAndPort(Setting.RENDEZVOUS.variable(), ELASTIC + address, address);
            return new AtCoordinator(address, OptionalInt.empty());
        }

        private static boolean isOfLauncher(String address) {
            return address.contains("@");
        }

        /**
         * The coordinator's address with the job's secret. A name in it is looked up when it is used.
         *
         * @param given the secret that the settings give
         * @throws HvdException if they give none, and the workers come by themselves
         */
        public LauncherAddress with(Optional<Secret> given) {
            if (worker.isPresent()) {
                return LauncherAddress.decode(address);
            }
            Secret secret = given.orElseThrow(() -> new HvdException(
                    ErrorId.BAD_SETTING,
                    Setting.RENDEZVOUS.variable() + "=" + ELASTIC + address + " needs " + Setting.SECRET.variable()
                            + ", by which the coordinator and its ranks know each other; set it to the same random word"
                            + " for all of them"));
            return new LauncherAddress(
                    HexFormat.of().formatHex(secret.bytes(HandshakeListener.SECRET_BYTES)),
                    List.of(hostAndPort(Setting.RENDEZVOUS.variable(), ELASTIC + address, address)));
        }

        @Override
        public String toString() {
            return "where the coordinator of the elastic job says";
        }
    }

    /** Why a program that joins by itself cannot be of an elastic job. */
    public static final String ONLY_BY_ELASTIC_RUN =
            "this job is elastic (horovodrun --min-np, or HVD_RENDEZVOUS=elastic=host:port), so its ranks join by"
                    + " Elastic.run(state, body), which calls Hvd.init() for each generation; this program has called it"
                    + " itself. For a job of a fixed size leave out --min-np, --max-np and --host-discovery-script, or"
                    + " name rank 0's host and port";

    /** Empty if no variables tell this process's number and how many there are. */
    static Optional<RankPlace> of(Map<String, String> environment, Optional<SlurmPlace> slurm) {
        return VARIABLES.stream()
                .flatMap(names -> of(environment, names.get(0), names.get(1)).stream()
                        .map(place -> place.meetingIn(value(environment, names.get(2)), environment, slurm)))
                .findFirst()
                .or(() -> slurm.flatMap(SlurmPlace::task)
                        .map(task -> new RankPlace(
                                        task.number(), task.count(), "Slurm step " + task.step(), Optional.empty())
                                .meetingIn(task.step(), environment, slurm)));
    }

    /** Where the coordinator is; empty in a job that is not elastic. @param place this process's, if it has one */
    static Optional<AtCoordinator> coordinator(Map<String, String> environment, Optional<RankPlace> place) {
        String value = rendezvous(environment);
        return place.flatMap(RankPlace::meeting)
                .filter(AtCoordinator.class::isInstance)
                .map(AtCoordinator.class::cast)
                .or(() -> byItself(value)
                        ? Optional.of(AtCoordinator.of(value.substring(ELASTIC.length()), 0))
                        : Optional.empty());
    }

    /** Whether this is the place of a coordinator that waits for workers which nobody has numbered. */
    private static boolean byItself(String rendezvous) {
        return rendezvous.startsWith(ELASTIC) && !AtCoordinator.isOfLauncher(rendezvous);
    }

    /** Why a process with no place must not go on by itself; empty if nothing says that it is to meet others. */
    static Optional<String> whyNotAlone(Map<String, String> environment) {
        String name = Setting.RENDEZVOUS.variable();
        String value = rendezvous(environment);
        if (byItself(value)) {
            return Optional.of(ONLY_BY_ELASTIC_RUN);
        }
        String shown = Stream.of(LAUNCHER, ELASTIC)
                .filter(value::startsWith)
                .findFirst()
                .orElse(value);
        return value.isEmpty()
                ? Optional.empty()
                : Optional.of(name + "=" + shown
                        + " says where this process meets others, but nothing tells it its rank and their number: it would"
                        + " train by itself, and so would each of them. Set HOROVOD_RANK and HOROVOD_SIZE on each"
                        + " (HOROVOD_SIZE suffices in an Indexed Job); if it is meant to be alone, unset " + name
                        + " or set HVD_BACKEND=local");
    }

    private static String rendezvous(Map<String, String> environment) {
        return environment.getOrDefault(Setting.RENDEZVOUS.variable(), "").strip();
    }

    private static String value(Map<String, String> environment, String name) {
        return environment.containsKey(name) ? environment.get(name).strip() : "";
    }

    private static Optional<RankPlace> of(Map<String, String> environment, String rankName, String sizeName) {
        String rank = value(environment, rankName);
        String size = value(environment, sizeName);
        return rank.matches("\\d{1,9}") && size.matches("\\d{1,9}")
                ? Optional.of(new RankPlace(
                        Integer.parseInt(rank),
                        Integer.parseInt(size),
                        rankName + "=" + rank + " and " + sizeName + "=" + size,
                        Optional.empty()))
                : Optional.empty();
    }

    private RankPlace meetingIn(String job, Map<String, String> environment, Optional<SlurmPlace> slurm) {
        return new RankPlace(
                rank,
                size,
                source,
                told(job, environment, rank)
                        .or(() -> torchrun(job, environment))
                        .or(() -> slurm.flatMap(SlurmPlace::task).flatMap(task -> slurm(task, environment)))
                        .or(() -> oneHost(environment))
                        .or(() -> mpirunsHost(job, environment)));
    }

    private static Optional<Meeting> told(String job, Map<String, String> environment, int rank) {
        String name = Setting.RENDEZVOUS.variable();
        String value = rendezvous(environment);
        if (value.isEmpty()) {
            return horovods(job, environment);
        }
        if (value.startsWith(LAUNCHER)) {
            return Optional.of(new AtLauncher(value.substring(LAUNCHER.length())));
        }
        if (value.startsWith(ELASTIC)) {
            return Optional.of(AtCoordinator.of(value.substring(ELASTIC.length()), rank));
        }
        return Optional.of(atRankZero(name, value, job));
    }

    /** Horovod's own names for the place, of ranks that bear its names too. */
    private static Optional<Meeting> horovods(String job, Map<String, String> environment) {
        String host = value(environment, "HOROVOD_GLOO_RENDEZVOUS_ADDR");
        String port = value(environment, "HOROVOD_GLOO_RENDEZVOUS_PORT");
        return host.isEmpty() || port.isEmpty() || !environment.containsKey("HOROVOD_RANK")
                ? Optional.empty()
                : Optional.of(atRankZero(
                        "HOROVOD_GLOO_RENDEZVOUS_ADDR:PORT",
                        (host.contains(":") ? "[" + host + "]" : host) + ":" + port,
                        job));
    }

    private static Meeting atRankZero(String name, String value, String job) {
        InetSocketAddress there = hostAndPort(name, value, value);
        return new AtRankZero(List.of(there.getHostString()), List.of(there.getPort()), value, job, name + "=" + value);
    }

    /** What host:port means, without looking for the host. @param whole of which it is a part, for an error */
    private static InetSocketAddress hostAndPort(String name, String whole, String value) {
        Matcher parts = ADDRESS.matcher(value);
        if (!parts.matches() || !isPort(parts.group(3))) {
            throw new HvdException(
                    ErrorId.BAD_SETTING,
                    name + " is \"" + whole + "\", expected host:port, such as node1:29400 or [fd00::1]:29400: "
                            + Setting.RENDEZVOUS.meaning());
        }
        String host = parts.group(1) == null ? parts.group(2) : parts.group(1);
        return InetSocketAddress.createUnresolved(host, Integer.parseInt(parts.group(3)));
    }

    private static boolean isPort(String text) {
        return text.matches("\\d{1,5}") && Integer.parseInt(text) > 0 && Integer.parseInt(text) <= LAST_PORT;
    }

    /** torchrun's agent may listen at this port itself, for its own ranks; the next ones are taken then. */
    private static Optional<Meeting> torchrun(String job, Map<String, String> environment) {
        String host = value(environment, "MASTER_ADDR");
        String port = value(environment, "MASTER_PORT");
        if (host.isEmpty() || !isPort(port) || !environment.containsKey("WORLD_SIZE")) {
            return Optional.empty();
        }
        boolean taken = value(environment, "TORCHELASTIC_USE_AGENT_STORE").equalsIgnoreCase("true");
        int first = Integer.parseInt(port);
        int step = first > LAST_PORT - CHOICE_OF_PORTS ? -1 : 1;
        List<Integer> ports = IntStream.rangeClosed(1, CHOICE_OF_PORTS)
                .mapToObj(next -> first + step * next)
                .toList();
        return Optional.of(new AtRankZero(
                List.of(host),
                taken ? ports : List.of(first),
                host + ":" + port,
                job + " " + value(environment, "TORCHELASTIC_RESTART_COUNT"),
                "MASTER_ADDR=" + host + " and MASTER_PORT=" + port
                        + (taken ? ", with ports " + ports + " as torchrun has that one itself" : "")));
    }

    /** Task 0 is on the first node of the step's list, and the step's number gives a port. */
    private static Optional<Meeting> slurm(SlurmPlace.Task task, Map<String, String> environment) {
        String nodes = value(environment, "SLURM_STEP_NODELIST");
        return firstHost(nodes).map(host -> {
            List<Integer> ports = ports(task.step(), environment);
            return new AtRankZero(
                    List.of(host),
                    ports,
                    "slurm " + value(environment, "SLURM_JOB_UID"),
                    task.step(),
                    "SLURM_STEP_NODELIST=" + nodes + " with ports " + ports + range(environment));
        });
    }

    /** Ports that all ranks of a job find alike; jobs that are numbered one after the other have other ports. */
    private static List<Integer> ports(String job, Map<String, String> environment) {
        PortRange range =
                PortRange.parse(value(environment, PortRange.VARIABLE)).orElse(OWN_PORTS);
        int count = range.last() - range.first() + 1;
        int first = Math.floorMod(job.hashCode() * 31, count);
        return IntStream.range(0, Math.min(count, CHOICE_OF_PORTS))
                .mapToObj(next -> range.first() + (first + next) % count)
                .toList();
    }

    /** Ranks that have another range do not meet, and each then names its own. */
    private static String range(Map<String, String> environment) {
        String range = value(environment, PortRange.VARIABLE);
        return range.isEmpty()
                ? " of " + OWN_PORTS + ", as " + PortRange.VARIABLE + " is not set"
                : " of " + PortRange.VARIABLE + "=" + range;
    }

    /** The first name of a list in Slurm's form, such as {@code n[01-03,7],m}; empty for an empty list. */
    static Optional<String> firstHost(String nodes) {
        Matcher first = FIRST_HOST.matcher(nodes.strip());
        return first.matches() ? Optional.of(NUMBERS.matcher(first.group(1)).replaceAll("$1")) : Optional.empty();
    }

    /** mpirun names the job, and says that all of its processes are on this host. */
    private static Optional<Meeting> oneHost(Map<String, String> environment) {
        String all = value(environment, "OMPI_COMM_WORLD_SIZE");
        String job = value(environment, "PMIX_NAMESPACE");
        return !all.isEmpty() && !job.isEmpty() && all.equals(value(environment, "OMPI_COMM_WORLD_LOCAL_SIZE"))
                ? Optional.of(new OnOneHost(job + " " + value(environment, "PMIX_SERVER_TMPDIR")))
                : Optional.empty();
    }

    /** mpirun tells where itself is. Rank 0 knows whether it is there too, and refuses to start for all if it is not. */
    private Optional<Meeting> mpirunsHost(String job, Map<String, String> environment) {
        String orte = value(environment, "OMPI_MCA_orte_hnp_uri");
        boolean here = orte.equals(value(environment, "OMPI_MCA_orte_local_daemon_uri"));
        List<String> hosts = ORTE_ADDRESSES
                .matcher(orte)
                .results()
                .flatMap(found ->
                        Stream.of(found.group(1).replaceAll("[\\[\\]]", "").split(",")))
                .toList();
        Matcher prrte = PRRTE_JOB.matcher(job);
        if (hosts.isEmpty() && prrte.matches()) {
            here = prrte.group(1).equals(value(environment, "PMIX_HOSTNAME"));
            hosts = List.of(prrte.group(1));
        }
        if (hosts.isEmpty() || rank == 0 && !here) {
            return Optional.empty();
        }
        List<Integer> ports = ports(job, environment);
        return Optional.of(new AtRankZero(
                hosts, ports, orte, job, "the host of mpirun, " + hosts + " with ports " + ports + range(environment)));
    }

    /** Why the ranks cannot meet, for an error. */
    public String noMeeting() {
        String host = rank == 0 ? HostAddress.localName() : "node1";
        return source + " say that this is one of " + size + " ranks, but not where they meet: set "
                + Setting.RENDEZVOUS.variable() + "=host:port on all of them, where host is that of rank 0 and port any"
                + " free one there (mpirun -x " + Setting.RENDEZVOUS.variable() + "=" + host + ":29400 ...)";
    }
}
