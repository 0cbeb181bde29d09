package io.hvd.engine;

import io.hvd.config.EngineSettings;
import io.hvd.config.Setting;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The settings that autotuning may change. All ranks have the same ones. */
record Tunable(long fusionThresholdBytes, long cycleNanos) {

    /** One of the settings. */
    enum Knob {
        FUSION_THRESHOLD(Setting.FUSION_THRESHOLD),
        CYCLE_TIME(Setting.CYCLE_TIME);

        private final Setting setting;

        Knob(Setting setting) {
            this.setting = setting;
        }

        Setting setting() {
            return setting;
        }
    }

    static Tunable of(EngineSettings settings) {
        return new Tunable(settings.fusionThresholdBytes(), settings.cycleNanos());
    }

    /** The settings with another value of one of them. */
    Tunable with(Knob knob, long value) {
        return switch (knob) {
            case FUSION_THRESHOLD -> new Tunable(value, cycleNanos);
            case CYCLE_TIME -> new Tunable(fusionThresholdBytes, value);
        };
    }

    /** The value of a setting as its variable has it. */
    String value(Knob knob) {
        return switch (knob) {
            case FUSION_THRESHOLD -> Long.toString(fusionThresholdBytes);
            case CYCLE_TIME -> Double.toString(cycleNanos / 1e6);
        };
    }

    /** The variables with which another job begins with these settings. */
    Map<String, String> variables() {
        Map<String, String> variables = new TreeMap<>();
        for (Knob knob : Knob.values()) {
            variables.put(knob.setting().variable(), value(knob));
        }
        return variables;
    }

    /** The settings in which these differ from others, as in {@code NAME=value instead of value}. */
    String changesFrom(Tunable other) {
        return Arrays.stream(Knob.values())
                .filter(knob -> !value(knob).equals(other.value(knob)))
                .map(knob -> knob.setting().variable() + "=" + value(knob) + " instead of " + other.value(knob))
                .collect(Collectors.joining(" and "));
    }

    @Override
    public String toString() {
        return variables().entrySet().stream()
                .map(each -> each.getKey() + "=" + each.getValue())
                .collect(Collectors.joining(" and "));
    }
}
