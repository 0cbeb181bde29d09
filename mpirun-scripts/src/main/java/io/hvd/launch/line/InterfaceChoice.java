package io.hvd.launch.line;

import io.hvd.config.Setting;
import io.hvd.launch.mpi.LauncherParameter;
import io.hvd.launch.mpi.ParameterFiles;
import io.hvd.launch.mpi.UserChoices;
import io.hvd.launch.words.Argument;
import io.hvd.net.Interfaces;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The part of the mpirun line that says over which network interfaces bytes travel: those asked for, or all that lead out. */
final class InterfaceChoice {

    static final String NCCL_INTERFACES = "NCCL_SOCKET_IFNAME";

    private static final String INCLUDED = "btl_tcp_if_include";

    private final LaunchFacts job;
    private final UserChoices choices;

    InterfaceChoice(LaunchFacts job) {
        this.job = job;
        this.choices = job.choices();
    }

    /** Those of the arguments that set a variable of the ranks, which mean the same whatever starts them. */
    List<Argument> variables() {
        return arguments().stream()
                .filter(argument ->
                        argument.words().size() == 2 && argument.words().get(0).equals("-x"))
                .toList();
    }

    List<Argument> arguments() {
        return job.settings().network().interfaces().map(this::asked).orElseGet(this::leftOut);
    }

    private List<Argument> asked(String list) {
        List<Argument> arguments = new ArrayList<>();
        String asked = "network interfaces asked for";
        arguments.add(Argument.of(asked + ", for data", "--mca", INCLUDED, list));
        if (!job.allRanksHere()) {
            arguments.add(LauncherParameter.USED_INTERFACES.set(job.version(), list, asked + ", for start-up"));
            addControl(arguments, list);
        }
        addNccl(arguments, list);
        return arguments;
    }

    /** The variables that {@code --network-interfaces} sets, so that what the environment says of them does not count. */
    static Set<String> variables(String list) {
        String control = Setting.CONTROL_INTERFACE.variable();
        return Interfaces.names(list).isEmpty() ? Set.of(control) : Set.of(control, NCCL_INTERFACES);
    }

    /** hvd's own small messages; it reads such a list as Open MPI does. */
    private void addControl(List<Argument> arguments, String list) {
        String variable = Setting.CONTROL_INTERFACE.variable();
        if (choices.source("-x " + variable).isEmpty()) {
            arguments.add(
                    Argument.of("network interfaces asked for, for hvd's own messages", "-x", variable + "=" + list));
        }
    }

    /** NCCL knows names only: of networks, which may be other interfaces on every host, it gets what is left out. */
    private void addNccl(List<Argument> arguments, String list) {
        List<String> names = Interfaces.names(list);
        if (choices.source("-x " + NCCL_INTERFACES).isPresent()) {
            return;
        }
        if (!names.isEmpty()) {
            boolean all = names.size() == list.split(",").length;
            arguments.add(Argument.of(
                    "network interfaces asked for, for NCCL" + (all ? "" : ", which takes no networks"),
                    "-x",
                    NCCL_INTERFACES + "=" + String.join(",", names)));
        } else if (!job.allRanksHere()) {
            unlessSet(
                            NCCL_INTERFACES,
                            "^" + String.join(",", Interfaces.leftOut(job.interfaces())),
                            "NCCL takes no networks: interfaces that end inside a host are left out")
                    .ifPresent(arguments::add);
        }
    }

    /** Between hosts only: inside one, every interface leads where it should. */
    private List<Argument> leftOut() {
        if (job.allRanksHere()) {
            return List.of();
        }
        List<String> names = List.of(
                INCLUDED,
                "btl_tcp_if_exclude",
                LauncherParameter.USED_INTERFACES.name(job.version()),
                LauncherParameter.UNUSED_INTERFACES.name(job.version()));
        Optional<ParameterFiles.Entry> inFile =
                ParameterFiles.first(names, job.machine().environment());
        Optional<String> chosen = names.stream()
                .flatMap(name -> choices.source(name).stream())
                .findFirst()
                .or(() -> inFile.filter(entry -> !cutsOff(entry))
                        .map(entry -> entry.file().toString()));
        if (chosen.isPresent()) {
            return List.of(Argument.note("network interfaces: as set by " + chosen.get()));
        }
        String list = String.join(",", Interfaces.leftOut(job.interfaces()));
        List<Argument> arguments = new ArrayList<>();
        arguments.add(inFile.flatMap(this::overruled)
                .orElseGet(() -> Argument.of(
                        "interfaces that end inside a host are left out, " + seen(),
                        "--mca",
                        "btl_tcp_if_exclude",
                        list)));
        arguments.add(LauncherParameter.UNUSED_INTERFACES.set(job.version(), list, "the same for start-up"));
        unlessSet(NCCL_INTERFACES, "^" + list, "the same for NCCL").ifPresent(arguments::add);
        return arguments;
    }

    /** Whether a file lets MPI use only interfaces that lead to no other host, as Debian's of Open MPI 6.0.0rc2 does. */
    private static boolean cutsOff(ParameterFiles.Entry entry) {
        return entry.name().equals(INCLUDED)
                && Interfaces.used(List.of(entry.value().split("[,\\s]+"))).isEmpty();
    }

    /** By interfaces to use: MPI takes some to leave out beside those of the file for an error. Empty if none is known. */
    private Optional<Argument> overruled(ParameterFiles.Entry entry) {
        List<String> used = Interfaces.used(job.interfaces());
        String reason = entry.file() + " has " + entry.name() + "=" + entry.value() + ", which reaches no other host; ";
        return used.isEmpty()
                ? Optional.empty()
                : Optional.of(Argument.of(reason + seen(), "--mca", INCLUDED, String.join(",", used)));
    }

    private String seen() {
        StringBuilder text =
                new StringBuilder("used: here " + names(job.machine().interfaces()));
        job.others()
                .forEach((host, present) ->
                        text.append("; ").append(host).append(' ').append(names(present)));
        return text + (job.others().isEmpty() ? "; the other hosts have not been asked" : "");
    }

    private static String names(Collection<String> present) {
        List<String> used = Interfaces.used(present);
        return used.isEmpty() ? "none" : String.join(",", used);
    }

    private Optional<Argument> unlessSet(String variable, String value, String reason) {
        return job.isSet(variable) ? Optional.empty() : Optional.of(Argument.of(reason, "-x", variable + "=" + value));
    }
}
