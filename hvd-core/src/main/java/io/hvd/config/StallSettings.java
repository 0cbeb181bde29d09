package io.hvd.config;

import java.time.Duration;
import java.util.List;

/**
 * When the ranks that others wait for are named, and when waiting ends.
 *
 * @param warningSeconds the wait before a warning; at least 1
 * @param shutdownSeconds the wait before the job is ended; 0 for never, otherwise no less than {@code warningSeconds}
 * @param standstillSeconds the wait before a proven deadlock ends the job; 0 for no other limit than {@code shutdownSeconds}
 */
public record StallSettings(boolean enabled, int warningSeconds, int shutdownSeconds, int standstillSeconds) {
    /** Eleven days. */
    private static final int LONGEST = 1_000_000;

    /** Age of a waiting collective from which on its missing ranks are named; zero for never. */
    public Duration warning() {
        return enabled ? Duration.ofSeconds(warningSeconds) : Duration.ZERO;
    }

    /** Age of a waiting collective at which the job ends; zero for never. */
    public Duration shutdown() {
        return enabled ? Duration.ofSeconds(shutdownSeconds) : Duration.ZERO;
    }

    /** The time after which a proven deadlock ends the job; zero for never, which holds for every wait where waits have no limit. */
    public Duration standstill() {
        return enabled && shutdownSeconds > 0 ? Duration.ofSeconds(standstillSeconds) : Duration.ZERO;
    }

    /** Settings by which the job ends after this time, and the missing ranks are named after half of it at the latest. */
    StallSettings withShutdown(Duration time) {
        int seconds = Math.toIntExact(time.plusNanos(999_999_999).toSeconds());
        return new StallSettings(true, Math.max(1, Math.min(warningSeconds, seconds / 2)), seconds, standstillSeconds);
    }

    static StallSettings from(SettingReader reader, List<String> notes) {
        int warning = reader.between(Setting.STALL_CHECK_TIME, 1, LONGEST);
        int shutdown = reader.between(Setting.STALL_SHUTDOWN_TIME, 0, LONGEST);
        if (shutdown > 0 && shutdown < warning) {
            int ours = Math.max(warning, Integer.parseInt(Setting.STALL_SHUTDOWN_TIME.defaultValue()));
            if (reader.text(Setting.STALL_SHUTDOWN_TIME).isPresent()) {
                notes.add(Setting.STALL_SHUTDOWN_TIME.variable() + "=" + shutdown
                        + " is ignored, because the missing ranks are named after " + warning
                        + " seconds only: the job ends after " + ours + " seconds of waiting");
            }
            shutdown = ours;
        }
        int standstill = reader.between(Setting.STANDSTILL_TIME, 0, LONGEST);
        return new StallSettings(!reader.flag(Setting.STALL_CHECK_DISABLE), warning, shutdown, standstill);
    }
}
