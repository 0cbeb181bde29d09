package io.hvd.engine.tuning;

import io.hvd.config.AutotuneSettings;
import io.hvd.config.Setting;
import io.hvd.engine.message.Tunable;
import io.hvd.log.HvdLogger;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;

/**
 * The CSV file of autotuning: Horovod's columns in Horovod's order, with cycle time in milliseconds and threshold in
 * MiB, and then hvd's own. There is a line for every sample, and the last line has the settings that were chosen. A file that cannot be
 * written costs a warning and nothing else.
 */
final class TuningLog {
    private static final HvdLogger LOG = HvdLogger.of(TuningLog.class);
    private static final String COLUMNS = "hierarchical_allreduce,hierarchical_allgather,torus_allreduce,cache_enabled,"
            + "cycle_time_ms,tensor_fusion_threshold,score,step_ms,step_bytes,static_plan,bucket_bytes,phase\n";
    private static final double MIB = 1 << 20;

    /** The first column where there is no choice. */
    private final int hierarchical;

    private final String fixed;
    private Path file;

    /** Begins the file, if there is to be one. */
    TuningLog(AutotuneSettings settings, boolean cacheEnabled) {
        this.hierarchical = settings.hierarchicalAllreduce() ? 1 : 0;
        this.fixed = "0," + digit(settings.torusAllreduce()) + "," + digit(cacheEnabled);
        this.file = settings.log().orElse(null);
        write(COLUMNS, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
    }

    void add(Tunable settings, StepSample sample, String phase) {
        write(
                String.format(
                        Locale.ROOT,
                        "%d,%s,%s,%s,%.3f,%.3f,%.0f,%s,%d,%s%n",
                        settings.levels() == 0 ? hierarchical : settings.levels() - 1,
                        fixed,
                        settings.cycleNanos() / 1e6,
                        settings.fusionThresholdBytes() / MIB,
                        sample.bytesPerMicro(),
                        sample.stepMicros() / 1e3,
                        sample.bytes(),
                        digit(sample.inPlan()),
                        settings.bucketBytes(),
                        phase),
                StandardOpenOption.APPEND);
    }

    private static String digit(boolean on) {
        return on ? "1" : "0";
    }

    private void write(String text, StandardOpenOption... options) {
        if (file == null) {
            return;
        }
        try {
            Files.writeString(file, text, options);
        } catch (IOException | UncheckedIOException e) {
            LOG.warn(
                    "the log of autotuning, {}={}, cannot be written ({}); tuning goes on without it",
                    Setting.AUTOTUNE_LOG.variable(),
                    file,
                    e.toString());
            file = null;
        }
    }
}
