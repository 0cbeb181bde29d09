package io.hvd.log;

import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import org.slf4j.helpers.NormalizedParameters;
import org.slf4j.spi.LocationAwareLogger;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * The log of hvd. It passes on to SLF4J's provider what {@code HOROVOD_LOG_LEVEL} lets through, whichever provider
 * that is. The level belongs to the process: ranks that are threads share it.
 */
public final class HvdLogger {
    /** The variable that sets the level. */
    public static final String VARIABLE = "HOROVOD_LOG_LEVEL";

    private static final String NAME = HvdLogger.class.getName();
    /** A bad value counts as not set here; {@code Hvd.init} refuses it. */
    private static final Threshold OF_PROCESS = Threshold.of(System.getenv()).orElse(null);

    /** Horovod's names of the levels. */
    public enum Threshold {
        TRACE(Level.TRACE),
        DEBUG(Level.DEBUG),
        INFO(Level.INFO),
        WARNING(Level.WARN),
        ERROR(Level.ERROR),
        FATAL(Level.ERROR);

        private final Level lowest;

        Threshold(Level lowest) {
            this.lowest = lowest;
        }

        /** The name that SLF4J's providers have for it, in lower case. */
        public String slf4jName() {
            return lowest.name().toLowerCase(Locale.ROOT);
        }

        static Optional<Threshold> of(Map<String, String> environment) {
            String value = environment.getOrDefault(VARIABLE, "").trim();
            return Arrays.stream(values())
                    .filter(level -> level.name().equalsIgnoreCase(value))
                    .findFirst();
        }

        private boolean lets(Level level) {
            return level.toInt() >= lowest.toInt();
        }
    }

    private final Logger provider;
    private final Threshold threshold;
    private final Threshold ofNotices;

    /** @param asked null if the user has asked for no level: then warnings, errors and notices are shown */
    HvdLogger(Logger provider, Threshold asked) {
        this.provider = provider;
        threshold = asked == null ? Threshold.WARNING : asked;
        ofNotices = asked == null ? Threshold.INFO : asked;
    }

    /** The logger of a class. */
    public static HvdLogger of(Class<?> type) {
        return of(type.getName());
    }

    /** A logger with a name that programs know. */
    public static HvdLogger of(String name) {
        return new HvdLogger(LoggerFactory.getLogger(name), OF_PROCESS);
    }

    /** Logs details; they go out as INFO if the user has asked for them and the provider hides its DEBUG. */
    public void debug(String message, Object... arguments) {
        if (threshold.lets(Level.DEBUG)) {
            pass(provider.isDebugEnabled() ? Level.DEBUG : Level.INFO, message, arguments);
        }
    }

    /** Logs what is of interest to those who ask. */
    public void info(String message, Object... arguments) {
        if (threshold.lets(Level.INFO)) {
            pass(Level.INFO, message, arguments);
        }
    }

    /** Logs as INFO what a user sees without asking: how a job begins, goes on and ends, and results that were asked for. */
    public void notice(String message, Object... arguments) {
        if (ofNotices.lets(Level.INFO)) {
            pass(Level.INFO, message, arguments);
        }
    }

    /** Logs what may be wrong. */
    public void warn(String message, Object... arguments) {
        if (threshold.lets(Level.WARN)) {
            pass(Level.WARN, message, arguments);
        }
    }

    /** Logs what has failed. */
    public void error(String message, Object... arguments) {
        pass(Level.ERROR, message, arguments);
    }

    /** The provider sees the class that logs as the caller, if it asks who that is. */
    private void pass(Level level, String message, Object... arguments) {
        if (!provider.isEnabledForLevel(level)) {
            return;
        }
        NormalizedParameters line = NormalizedParameters.normalize(message, arguments, null);
        if (provider instanceof LocationAwareLogger aware) {
            aware.log(null, NAME, level.toInt(), line.getMessage(), line.getArguments(), line.getThrowable());
        } else {
            LoggingEventBuilder event = provider.makeLoggingEventBuilder(level).setCause(line.getThrowable());
            event.log(line.getMessage(), line.getArguments());
        }
    }
}
