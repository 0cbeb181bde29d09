package io.hvd.job;

import io.hvd.config.Setting;
import io.hvd.spi.Backend;
import io.hvd.trace.FlightRecorder;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;

/** The facts of a rank's job for recordings of JDK Flight Recorder. */
final class JobFacts {
    private JobFacts() {}

    static FlightRecorder.Job of(Backend backend, Map<String, String> environment) {
        int rank = backend.topology().rank();
        return new FlightRecorder.Job(
                rank,
                backend.topology().size(),
                backend.topology().host(),
                backend.description(),
                settings(environment));
    }

    /** The settings that are in the environment, in the order of their table, without the secret ones. */
    static String settings(Map<String, String> environment) {
        return Arrays.stream(Setting.values())
                .filter(setting -> !setting.isSecret())
                .map(Setting::variable)
                .filter(environment::containsKey)
                .map(name -> name + "=" + environment.get(name))
                .collect(Collectors.joining(" "));
    }
}
