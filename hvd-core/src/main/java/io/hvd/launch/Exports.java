package io.hvd.launch;

import io.hvd.error.FailureRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** The part of the mpirun line that says which variables the ranks get. On this machine they inherit all of them anyway. */
final class Exports {

    /**
     * Kept back: shell functions, what describes this shell or login only, devices (which differ
     * by host), secrets, and what Open MPI hands on by itself.
     */
    private static final Pattern KEPT_BACK = Pattern.compile("BASH_FUNC_.*|OLDPWD|PWD|SHLVL|_|HOSTNAME|SSH_.*"
            + "|.*CUDA_VISIBLE_DEVICES|_?HOROVOD_SECRET_KEY|(OMPI|OPAL|PMIX|PRTE)_.*|"
            + FailureRecord.DIRECTORY_VARIABLE);

    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    private Exports() {}

    static List<Argument> arguments(Job job) {
        List<Argument> arguments = new ArrayList<>();
        arguments.add(Argument.of("where ranks leave the cause of a failure", "-x", FailureRecord.DIRECTORY_VARIABLE));
        if (!job.allRanksHere()) {
            arguments.add(environment(job));
        }
        return arguments;
    }

    private static Argument environment(Job job) {
        UserChoices choices = job.choices();
        List<String> words = new ArrayList<>();
        job.machine().environment().keySet().stream()
                .filter(name -> NAME.matcher(name).matches())
                .filter(name -> !KEPT_BACK.matcher(name).matches())
                .filter(name -> choices.source("-x " + name).isEmpty())
                .sorted()
                .forEach(name -> words.addAll(List.of("-x", name)));
        return new Argument(List.copyOf(words), "the environment of this shell, for the ranks on other hosts");
    }
}
