package io.hvd.launch.line;

import io.hvd.config.Setting;
import io.hvd.error.FailureRecord;
import io.hvd.launch.mpi.UserChoices;
import io.hvd.launch.options.Assignment;
import io.hvd.launch.words.Argument;
import io.hvd.net.LauncherAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The part of the mpirun line that says which variables the ranks get. On this machine they inherit all of them anyway. */
final class Exports {

    /**
     * Kept back: shell functions, what describes this shell or login only, devices (which differ
     * by host), what Slurm says of this node, secrets, and what Open MPI hands on by itself.
     */
    private static final Pattern KEPT_BACK = Pattern.compile("SLURMD_NODENAME"
            + "|SLURM_(CONF|NODEID|LOCALID|PROCID|GTIDS|TASK_PID|CPUS_ON_NODE|GPUS_ON_NODE|TOPOLOGY_ADDR)|BASH_FUNC_.*|OLDPWD|PWD|SHLVL|_|HOSTNAME|SSH_.*"
            + "|.*CUDA_VISIBLE_DEVICES|_?HOROVOD_SECRET_KEY|(OMPI|OPAL|PMIX|PRTE|PMI|HYDRA|HYDI)_.*");

    /** What the launcher itself sets for the ranks of one run. */
    static final List<String> OF_LAUNCHER =
            List.of(FailureRecord.DIRECTORY_VARIABLE, LauncherAddress.VARIABLE, Setting.DECLARED_JOB.variable());

    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    private final LaunchFacts job;
    private final UserChoices choices;

    Exports(LaunchFacts job) {
        this.job = job;
        this.choices = job.choices();
    }

    List<Argument> arguments() {
        List<Argument> arguments = new ArrayList<>();
        arguments.add(Argument.of("where ranks leave the cause of a failure", "-x", FailureRecord.DIRECTORY_VARIABLE));
        if (!job.allRanksHere()) {
            arguments.add(Argument.of("where those on other hosts send it", "-x", LauncherAddress.VARIABLE));
            arguments.add(Argument.of(
                    "what they compare at init with the job that they are in", "-x", Setting.DECLARED_JOB.variable()));
        }
        for (Assignment assignment : job.settings().assignments()) {
            arguments.add(choices.source("-x " + assignment.variable())
                    .map(source -> Argument.note(assignment.variable() + ": as set by " + source))
                    .orElse(Argument.of(assignment.origin(), "-x", assignment.variable() + "=" + assignment.value())));
        }
        if (job.allRanksHere()) {
            arguments.add(Argument.note("environment: inherited as a whole, all ranks are on this machine"));
            return arguments;
        }
        List<String> words =
                forwarded().stream().flatMap(name -> Stream.of("-x", name)).toList();
        arguments.add(new Argument(words, "the environment of this shell, for the ranks on other hosts"));
        keptBack().ifPresent(arguments::add);
        return arguments;
    }

    /** Names of the variables that go to the other hosts as they are. */
    List<String> forwarded() {
        Set<String> set = new HashSet<>();
        job.settings().assignments().forEach(assignment -> set.add(assignment.variable()));
        job.settings().network().interfaces().ifPresent(list -> set.addAll(InterfaceChoice.variables(list)));
        return names().filter(name -> NAME.matcher(name).matches())
                .filter(name -> !KEPT_BACK.matcher(name).matches())
                .filter(name -> !OF_LAUNCHER.contains(name))
                .filter(name -> choices.source("-x " + name).isEmpty())
                .filter(name -> !set.contains(name))
                .toList();
    }

    /** A note on those that do not; names only, some are secret. */
    Optional<Argument> keptBack() {
        List<String> names = names().filter(name ->
                        !NAME.matcher(name).matches() || KEPT_BACK.matcher(name).matches())
                .filter(name -> !OF_LAUNCHER.contains(name))
                .toList();
        return names.isEmpty()
                ? Optional.empty()
                : Optional.of(Argument.note(
                        "not forwarded, of this shell or host only, or secret: " + String.join(" ", names)));
    }

    private Stream<String> names() {
        return job.machine().environment().keySet().stream().sorted();
    }
}
