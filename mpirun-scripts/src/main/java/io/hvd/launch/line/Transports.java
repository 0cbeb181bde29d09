package io.hvd.launch.line;

import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.mpi.UserChoices;
import io.hvd.launch.words.Argument;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;

/** The part of the mpirun line that says how bytes travel. Only where no fabric is found is Open MPI's choice narrowed. */
final class Transports {

    /** Open MPI wants so much to be free when a rank makes its segment, of which it then takes little. */
    private static final long FIRST_SEGMENT = 5 << 20;

    private static final long EACH_SEGMENT = 1 << 20;

    private final JobFacts job;
    private final UserChoices choices;

    Transports(JobFacts job) {
        this.job = job;
        this.choices = job.choices();
    }

    List<Argument> arguments() {
        List<Argument> arguments = new ArrayList<>(routes());
        if (job.machine().container()) {
            arguments.add(copies());
        }
        arguments.addAll(new InterfaceChoice(job).arguments());
        arguments.addAll(listener());
        arguments.addAll(signals());
        return arguments;
    }

    private List<Argument> routes() {
        Optional<String> chosen = Stream.of("pml", "btl", "mtl")
                .flatMap(name -> choices.source(name).stream())
                .findFirst();
        if (chosen.isPresent()) {
            return List.of(Argument.note("transports: as set by " + chosen.get()));
        }
        boolean tcpOnly = job.settings().network().tcpOnly();
        if (job.version().flavour() == MpiVersion.Flavour.SPECTRUM) {
            return List.of(
                    tcpOnly
                            ? Argument.of("--tcp: TCP only", "-tcp")
                            : Argument.note("transports: left to IBM Spectrum MPI"));
        }
        if (tcpOnly) {
            return chosen("--tcp: no search for fabrics");
        }
        if (job.machine().fabric().isPresent()) {
            return fabric(job.machine().fabric().get());
        }
        if (job.ranksHere() == 0) {
            return List.of(Argument.note("transports: left to Open MPI, no rank runs on this machine"));
        }
        return chosen("no InfiniBand, RoCE or EFA here: no search for fabrics");
    }

    private List<Argument> fabric(String found) {
        Argument left = Argument.note("transports: left to Open MPI, found " + found);
        return job.allRanksHere()
                ? List.of(
                        left,
                        Argument.of("one host: no TCP, which would open a port of every rank", "--mca", "btl", "^tcp"))
                : List.of(left);
    }

    /** Inside a host there is nothing but its memory: TCP would open a port of every rank, at all addresses. */
    private List<Argument> chosen(String reason) {
        List<Argument> arguments = new ArrayList<>();
        arguments.add(Argument.of(reason, "--mca", "pml", "ob1"));
        String memory = job.version().startsWithPrrte() ? "sm" : "vader";
        if (job.allRanksHere()) {
            arguments.add(Argument.of("one host: shared memory", "--mca", "btl", "self," + memory));
            segments(memory).ifPresent(arguments::add);
        } else {
            arguments.add(Argument.of(
                    "shared memory inside a host, TCP between hosts", "--mca", "btl", "self," + memory + ",tcp"));
        }
        return arguments;
    }

    /** Without room for them Open MPI would look for another way, and there is none but TCP. */
    private Optional<Argument> segments(String memory) {
        String parameter = "btl_" + memory + "_backing_directory";
        OptionalLong room = job.machine().sharedMemoryBytes();
        if (room.isEmpty()
                || room.getAsLong() >= FIRST_SEGMENT + EACH_SEGMENT * job.ranksHere()
                || choices.source(parameter).isPresent()) {
            return Optional.empty();
        }
        String folder = job.machine().environment().getOrDefault("TMPDIR", "/tmp");
        String reason = "/dev/shm has only " + (room.getAsLong() >> 20) + " MiB free for " + job.ranksHere() + " ranks";
        return Optional.of(Argument.of(reason, "--mca", parameter, folder));
    }

    /**
     * PMIx's own listener leads out of the host under Open MPI 5 also where nobody has to come in; under 4.1 it does not. That
     * of the start-up layer is open at all addresses under both, whatever it is told.
     */
    private List<Argument> listener() {
        String parameter = "ptl_base_if_include";
        return job.allRanksHere()
                        && job.version().startsWithPrrte()
                        && choices.source(parameter).isEmpty()
                ? List.of(Argument.of("one host: its ranks reach mpirun by the loopback", "--pmixmca", parameter, "lo"))
                : List.of();
    }

    private Argument copies() {
        boolean prrte = job.version().startsWithPrrte();
        String parameter = prrte ? "smsc" : "btl_vader_single_copy_mechanism";
        return choices.source(parameter)
                .map(source -> Argument.note("copies between processes: as set by " + source))
                .orElse(Argument.of(
                        "a container may forbid reading another process's memory",
                        "--mca",
                        parameter,
                        prrte ? "^cma" : "none"));
    }

    /** The JVM turns SIGSEGV and its kin into exceptions; whoever else catches them breaks it or reports crashes that are none. */
    private List<Argument> signals() {
        List<Argument> arguments = new ArrayList<>();
        if (choices.source("opal_signal").isEmpty()) {
            arguments.add(
                    Argument.of("Open MPI keeps off the signals that the JVM handles", "--mca", "opal_signal", "31"));
        }
        addUnlessSet(arguments, "UCX_ERROR_SIGNALS", "", "UCX keeps off the signals that the JVM handles");
        if (job.machine().fabric().isPresent() || job.ranksHere() == 0) {
            String reason = "Omni-Path's library keeps off the signals that the JVM handles";
            addUnlessSet(arguments, "HFI_NO_BACKTRACE", "1", reason);
            addUnlessSet(arguments, "IPATH_NO_BACKTRACE", "1", reason);
        }
        return arguments;
    }

    private void addUnlessSet(List<Argument> arguments, String variable, String value, String reason) {
        if (!job.isSet(variable)) {
            arguments.add(Argument.of(reason, "-x", variable + "=" + value));
        }
    }
}
