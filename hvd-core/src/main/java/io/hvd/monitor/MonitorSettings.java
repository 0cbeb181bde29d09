package io.hvd.monitor;

import io.hvd.config.MonitorOptions;
import io.hvd.monitor.hang.NcclRas;
import java.nio.file.Path;
import java.time.Duration;

/**
 * The times after which a monitor warns and reports, and the folder for the report.
 *
 * @param warning age of a waiting collective from which on a warning is logged, once per this time; 0 for no warnings
 * @param limit age at which the hang is reported and the job ended; 0 for never
 * @param standstill time after which a proven deadlock is reported and the job ended; 0 for never
 * @param folder where the report of a hang is written
 * @param ras asked before a hang is reported
 */
record MonitorSettings(Duration warning, Duration limit, Duration standstill, Path folder, NcclRas ras) {
    private static final long LONGEST_BEAT_MILLIS = 1_000;
    private static final long SHORTEST_BEAT_MILLIS = 50;
    /**
     * The number of signs of life within the shorter of the two times, so that silent ranks are known before the first
     * warning.
     */
    private static final int BEATS_PER_PATIENCE = 5;

    /** Settings that leave NCCL's RAS alone, and look for no deadlock. */
    MonitorSettings(Duration warning, Duration limit, Path folder) {
        this(warning, limit, Duration.ZERO, folder, NcclRas.OFF);
    }

    public MonitorSettings {
        if (warning.isNegative() || limit.isNegative()) {
            throw new IllegalArgumentException("warning " + warning + ", limit " + limit + ": negative");
        }
    }

    /** NCCL itself goes by the variables of its process, whatever settings the program has passed. */
    static MonitorSettings of(MonitorOptions options) {
        return new MonitorSettings(
                options.stall().warning(),
                options.stall().shutdown(),
                options.stall().standstill(),
                options.reportFolder(),
                NcclRas.of(options.ncclRas(), System.getenv()));
    }

    /** Warns after a minute and ends the job after ten. */
    public static MonitorSettings standard() {
        return new MonitorSettings(Duration.ofSeconds(60), Duration.ofSeconds(600), Path.of(""));
    }

    long warningMillis() {
        return orNever(warning);
    }

    long limitMillis() {
        return orNever(limit);
    }

    long standstillMillis() {
        return orNever(standstill);
    }

    /** The age of a wait from which on the monitor asks the other ranks. */
    long patienceMillis() {
        return Math.min(warningMillis(), limitMillis());
    }

    /** The time between two signs of life. */
    long beatMillis() {
        long wanted = patienceMillis() / BEATS_PER_PATIENCE;
        return Math.max(SHORTEST_BEAT_MILLIS, Math.min(LONGEST_BEAT_MILLIS, wanted));
    }

    private static long orNever(Duration duration) {
        return duration.isZero() ? Long.MAX_VALUE : duration.toMillis();
    }
}
