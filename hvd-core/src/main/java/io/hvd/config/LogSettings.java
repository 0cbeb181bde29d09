package io.hvd.config;

/** How much is logged, and whether log lines begin with the time. */
public record LogSettings(Level level, boolean hideTime) {
    /** Horovod's names. */
    public enum Level {
        TRACE,
        DEBUG,
        INFO,
        WARNING,
        ERROR,
        FATAL
    }

    static LogSettings from(SettingReader reader) {
        return new LogSettings(reader.choice(Setting.LOG_LEVEL, Level.class), reader.flag(Setting.LOG_HIDE_TIME));
    }
}
