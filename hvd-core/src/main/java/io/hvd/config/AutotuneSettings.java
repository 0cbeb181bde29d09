package io.hvd.config;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** How Horovod would tune itself; read and checked, but nothing is tuned yet. */
record AutotuneSettings(
        boolean enabled, Optional<Path> log, int warmupSamples, int stepsPerSample, int maxSamples, double noise) {

    static AutotuneSettings from(SettingReader reader, List<String> notes) {
        boolean enabled = reader.flag(Setting.AUTOTUNE);
        if (enabled) {
            notes.add(Setting.AUTOTUNE.variable() + " is accepted, but tunes nothing yet");
        }
        return new AutotuneSettings(
                enabled,
                reader.path(Setting.AUTOTUNE_LOG),
                reader.between(Setting.AUTOTUNE_WARMUP_SAMPLES, 0, Integer.MAX_VALUE),
                reader.between(Setting.AUTOTUNE_STEPS_PER_SAMPLE, 0, Integer.MAX_VALUE),
                reader.between(Setting.AUTOTUNE_MAX_SAMPLES, 0, Integer.MAX_VALUE),
                reader.between(Setting.AUTOTUNE_NOISE, 0.0, 1.0, ""));
    }
}
