package io.hvd.config;

import java.util.Optional;

/** How much is logged, whether log lines begin with the time, and whether all lines begin with the rank. */
record LogSettings(Optional<Level> level, boolean hideTime, boolean prefixRank) {
    private static final String SIMPLE = "org.slf4j.simpleLogger.";

    /** Horovod's names, with what slf4j-simple calls them. */
    enum Level {
        TRACE("trace"),
        DEBUG("debug"),
        INFO("info"),
        WARNING("warn"),
        ERROR("error"),
        FATAL("error");

        private final String simple;

        Level(String simple) {
            this.simple = simple;
        }
    }

    static LogSettings from(SettingReader reader) {
        Optional<Level> level = reader.text(Setting.LOG_LEVEL).isPresent()
                ? Optional.of(reader.choice(Setting.LOG_LEVEL, Level.class))
                : Optional.empty();
        return new LogSettings(level, reader.flag(Setting.LOG_HIDE_TIME), reader.flag(Setting.PREFIX_RANK));
    }

    /** Hands the level to slf4j-simple, for loggers made from now on; other logging libraries do not look there. */
    void apply() {
        level.ifPresent(wanted -> System.setProperty(SIMPLE + "log.io.hvd", wanted.simple));
        if (level.isPresent() || hideTime) {
            System.setProperty(SIMPLE + "showDateTime", String.valueOf(!hideTime));
        }
    }
}
