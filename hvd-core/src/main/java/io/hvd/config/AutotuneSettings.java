package io.hvd.config;

import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The samples and limits of autotuning.
 *
 * @param log the CSV file that rank 0 writes
 * @param warmupSamples first samples that are not used
 * @param stepsPerSample the fewest steps of a sample
 * @param sampleMillis the least time of a sample
 * @param maxSamples the most samples for the search of each setting; the comparison at the end is not counted
 * @param fixed settings that were given a value and keep it
 * @param hierarchicalAllreduce and {@code torusAllreduce}: the choice between GPUs, for the log
 */
public record AutotuneSettings(
        boolean enabled,
        Optional<Path> log,
        int warmupSamples,
        int stepsPerSample,
        int sampleMillis,
        int maxSamples,
        Set<Setting> fixed,
        boolean hierarchicalAllreduce,
        boolean torusAllreduce) {
    private static final int LONGEST_SAMPLE_MILLIS = 3_600_000;

    /** Settings that may be tuned. */
    private static Stream<Setting> tunable() {
        return Stream.of(
                Setting.FUSION_THRESHOLD, Setting.CYCLE_TIME, Setting.BUCKET_BYTES, Setting.HIERARCHICAL_ALLREDUCE);
    }

    /** Nothing is tuned. */
    public static AutotuneSettings off() {
        return new AutotuneSettings(false, Optional.empty(), 3, 10, 100, 20, Set.of(), false, false);
    }

    static AutotuneSettings from(SettingReader reader) {
        return new AutotuneSettings(
                reader.flag(Setting.AUTOTUNE),
                reader.path(Setting.AUTOTUNE_LOG),
                reader.between(Setting.AUTOTUNE_WARMUP_SAMPLES, 0, Integer.MAX_VALUE),
                reader.between(Setting.AUTOTUNE_STEPS_PER_SAMPLE, 1, Integer.MAX_VALUE),
                reader.between(Setting.AUTOTUNE_SAMPLE_MILLIS, 0, LONGEST_SAMPLE_MILLIS),
                reader.between(Setting.AUTOTUNE_MAX_SAMPLES, 0, Integer.MAX_VALUE),
                tunable().filter(setting -> reader.text(setting).isPresent()).collect(Collectors.toUnmodifiableSet()),
                reader.flagIfSet(Setting.HIERARCHICAL_ALLREDUCE).orElse(false),
                reader.flag(Setting.TORUS_ALLREDUCE));
    }

    /** Whether a setting has a value that tuning must not change. */
    public boolean isFixed(Setting setting) {
        return fixed.contains(setting);
    }
}
