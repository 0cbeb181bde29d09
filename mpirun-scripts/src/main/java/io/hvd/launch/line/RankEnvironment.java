package io.hvd.launch.line;

import io.hvd.launch.options.Assignment;
import io.hvd.launch.words.Argument;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** The variables that ranks get which the launcher starts itself, apart from those that differ by rank. */
public final class RankEnvironment {

    /** The place of this process itself, or of one around it, in a job of mpirun's or srun's. */
    private static final Pattern OTHER_PLACE = Pattern.compile("(OMPI_COMM_WORLD|PMIX|PMI)_.*|SLURM_PROCID");

    private RankEnvironment() {}

    /** Those of the ranks on this machine, which inherit its environment as a whole. */
    public static Map<String, String> here(LaunchFacts job) {
        Map<String, String> environment = new HashMap<>(job.machine().environment());
        environment.putAll(settled(job));
        environment.keySet().removeIf(OTHER_PLACE.asMatchPredicate());
        return environment;
    }

    /** Those of the ranks on other hosts. */
    public static Map<String, String> elsewhere(LaunchFacts job) {
        Map<String, String> environment = new HashMap<>();
        new Exports(job)
                .forwarded()
                .forEach(name ->
                        environment.put(name, job.machine().environment().get(name)));
        environment.putAll(settled(job));
        environment.keySet().removeIf(OTHER_PLACE.asMatchPredicate());
        return environment;
    }

    /** Those that flags set. */
    private static Map<String, String> settled(LaunchFacts job) {
        Map<String, String> settled = new HashMap<>();
        for (Assignment one : job.settings().assignments()) {
            settled.put(one.variable(), one.value());
        }
        for (Argument argument : new InterfaceChoice(job).variables()) {
            String[] parts = argument.words().get(1).split("=", 2);
            settled.put(parts[0], parts[1]);
        }
        return settled;
    }
}
