package io.hvd.config;

import io.hvd.log.HvdLogger.Threshold;
import java.util.Optional;

/** The level of the log, whether its lines begin with the time, and whether all lines begin with the rank. */
public record LogSettings(Optional<Threshold> level, boolean hideTime, boolean prefixRank) {
    private static final String SIMPLE = "org.slf4j.simpleLogger.";

    static LogSettings from(SettingReader reader) {
        Optional<Threshold> level = reader.text(Setting.LOG_LEVEL).isPresent()
                ? Optional.of(reader.choice(Setting.LOG_LEVEL, Threshold.class))
                : Optional.empty();
        return new LogSettings(level, reader.flag(Setting.LOG_HIDE_TIME), reader.flag(Setting.PREFIX_RANK));
    }

    /** For loggers of slf4j-simple made from now on: what hvd lets through it shows under its own level, with the time. */
    public void apply() {
        level.ifPresent(wanted -> System.setProperty(SIMPLE + "log.io.hvd", wanted.slf4jName()));
        if (level.isPresent() || hideTime) {
            System.setProperty(SIMPLE + "showDateTime", String.valueOf(!hideTime));
        }
    }
}
