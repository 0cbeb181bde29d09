package io.hvd.job;

import io.hvd.config.HvdConfig;
import io.hvd.config.LauncherFacts;
import io.hvd.error.HvdException;
import java.util.HashMap;
import java.util.Map;

/**
 * The settings of one job: the environment, and what the program has said instead.
 *
 * @param variables all variables, by name
 * @param config what they mean, and what the program asks for on top of them
 */
record JobSettings(Map<String, String> variables, HvdConfig config) {
    /** @throws HvdException if a setting is bad */
    static JobSettings of(JobOptions options) {
        Map<String, String> variables = variables(options.settings());
        return new JobSettings(variables, options.applied().apply(HvdConfig.from(variables)));
    }

    /**
     * Those of a rank that is a task of a cluster. Whatever has started its process, perhaps as a rank of something else, does
     * not count.
     *
     * @param place the variables that tell its place
     */
    static JobSettings ofTask(JobOptions options, Map<String, String> place) {
        Map<String, String> variables = new HashMap<>(LauncherFacts.withoutLaunchers(System.getenv()));
        variables.putAll(options.settings());
        variables.putAll(place);
        return new JobSettings(Map.copyOf(variables), options.applied().apply(HvdConfig.from(variables)));
    }

    /** Only what the launcher says, for a job whose settings are bad. */
    static HvdConfig launchers(JobOptions options) {
        return options.applied().apply(HvdConfig.ofLauncherOnly(variables(options.settings())));
    }

    private static Map<String, String> variables(Map<String, String> instead) {
        Map<String, String> variables = new HashMap<>(System.getenv());
        variables.putAll(instead);
        return Map.copyOf(variables);
    }

    /** These settings in the place of the environment. */
    static JobSettings only(Map<String, String> variables) {
        return new JobSettings(Map.copyOf(variables), HvdConfig.from(variables));
    }
}
