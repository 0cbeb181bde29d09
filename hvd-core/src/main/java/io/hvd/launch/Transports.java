package io.hvd.launch;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The part of the mpirun line that says how bytes travel. Only where no fabric is found is Open MPI's choice narrowed. */
final class Transports {

    private final Job job;
    private final UserChoices choices;

    Transports(Job job) {
        this.job = job;
        this.choices = job.choices();
    }

    List<Argument> arguments() {
        List<Argument> arguments = new ArrayList<>(routes());
        if (job.machine().container()) {
            arguments.add(copies());
        }
        arguments.addAll(new InterfaceChoice(job).arguments());
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
            return List.of(Argument.of("--tcp: no search for fabrics", "--mca", "pml", "ob1"), memory());
        }
        if (job.machine().fabric().isPresent()) {
            return List.of(Argument.note("transports: left to Open MPI, found "
                    + job.machine().fabric().get()));
        }
        if (job.ranksHere() == 0) {
            return List.of(Argument.note("transports: left to Open MPI, no rank runs on this machine"));
        }
        return List.of(
                Argument.of("no InfiniBand, RoCE or EFA here: no search for fabrics", "--mca", "pml", "ob1"), memory());
    }

    /** On one host Open MPI 5 reports TCP routes that it cannot pair, for every rank, although none is used. */
    private Argument memory() {
        boolean prrte = job.version().startsWithPrrte();
        if (prrte && job.allRanksHere()) {
            return Argument.of("one host: shared memory", "--mca", "btl", "self,sm");
        }
        String list = prrte ? "self,sm,tcp" : "self,vader,tcp";
        return Argument.of("shared memory inside a host, TCP between hosts", "--mca", "btl", list);
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
