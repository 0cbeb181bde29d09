package io.hvd.engine.message;

import io.hvd.config.EngineSettings;
import io.hvd.config.Setting;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The settings that autotuning may change. All ranks have the same ones.
 *
 * @param bucketBytes bytes at which optimizers close a group of gradients; 0 leaves it to each of them
 * @param levels 2 if allreduces of all ranks add inside each host first, 1 if they do not, 0 where there is no choice
 */
public record Tunable(long fusionThresholdBytes, long cycleNanos, long bucketBytes, int levels) {

    /** One of the settings, in the order in which they are tuned. */
    public enum Knob {
        FUSION_THRESHOLD(Setting.FUSION_THRESHOLD),
        BUCKET_BYTES(Setting.BUCKET_BYTES),
        LEVELS(Setting.HIERARCHICAL_ALLREDUCE),
        CYCLE_TIME(Setting.CYCLE_TIME);

        private final Setting setting;

        Knob(Setting setting) {
            this.setting = setting;
        }

        public Setting setting() {
            return setting;
        }
    }

    public static Tunable of(EngineSettings settings) {
        return new Tunable(
                settings.fusionThresholdBytes(), settings.cycleNanos(), settings.bucketBytes(), settings.levels());
    }

    /** The settings of an engine, with these in place of its own. */
    public EngineSettings in(EngineSettings settings) {
        return settings.with(fusionThresholdBytes, cycleNanos, bucketBytes, levels);
    }

    /** The settings with another value of one of them. */
    public Tunable with(Knob knob, long value) {
        return switch (knob) {
            case FUSION_THRESHOLD -> new Tunable(value, cycleNanos, bucketBytes, levels);
            case CYCLE_TIME -> new Tunable(fusionThresholdBytes, value, bucketBytes, levels);
            case BUCKET_BYTES -> new Tunable(fusionThresholdBytes, cycleNanos, value, levels);
            case LEVELS -> new Tunable(fusionThresholdBytes, cycleNanos, bucketBytes, Math.toIntExact(value));
        };
    }

    /** Whether a step's gradients come, and its batches run, as with other settings; only the cut may differ. */
    public boolean runsLike(Tunable other) {
        return bucketBytes == other.bucketBytes && levels == other.levels;
    }

    /** The value of a setting as its variable has it. */
    String value(Knob knob) {
        return switch (knob) {
            case FUSION_THRESHOLD -> Long.toString(fusionThresholdBytes);
            case CYCLE_TIME -> Double.toString(cycleNanos / 1e6);
            case BUCKET_BYTES -> Long.toString(bucketBytes);
            case LEVELS -> Integer.toString(levels - 1);
        };
    }

    private Stream<Knob> knobs() {
        return Arrays.stream(Knob.values()).filter(knob -> knob != Knob.LEVELS || levels > 0);
    }

    /** The variables with which another job begins with these settings. */
    public Map<String, String> variables() {
        Map<String, String> variables = new TreeMap<>();
        knobs().forEach(knob -> variables.put(knob.setting().variable(), value(knob)));
        return variables;
    }

    /** The settings in which these differ from others, as in {@code NAME=value instead of value}. */
    public String changesFrom(Tunable other) {
        return knobs().filter(knob -> !value(knob).equals(other.value(knob)))
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
