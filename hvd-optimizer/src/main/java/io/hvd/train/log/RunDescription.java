package io.hvd.train.log;

import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * A program's words about its run.
 *
 * @param program its name
 * @param parameters values for a comparison of runs, such as the learning rate, by name
 */
public record RunDescription(String program, Map<String, String> parameters) {
    /** Copies the parameters, in the order of their names. */
    public RunDescription {
        Objects.requireNonNull(program, "program");
        parameters = Map.copyOf(parameters);
    }

    Map<String, String> shown() {
        Map<String, String> shown = new TreeMap<>();
        parameters.forEach((name, value) -> shown.put(name, Secrets.isSecret(name) ? Secrets.STARS : value));
        return shown;
    }
}
