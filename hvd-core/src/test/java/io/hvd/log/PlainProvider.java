package io.hvd.log;

import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.Logger;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.helpers.NOPMDCAdapter;
import org.slf4j.spi.LocationAwareLogger;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/**
 * A provider that is not slf4j-simple. It prints to standard output what is of the level of the system property
 * {@code plain.level} or above, with the class that it takes for the caller's neighbour.
 */
public final class PlainProvider implements SLF4JServiceProvider {
    private final IMarkerFactory markers = new BasicMarkerFactory();
    private final MDCAdapter context = new NOPMDCAdapter();
    private final Level lowest = Level.valueOf(System.getProperty("plain.level"));

    @Override
    public ILoggerFactory getLoggerFactory() {
        return name -> new PlainLogger(name, lowest);
    }

    @Override
    public IMarkerFactory getMarkerFactory() {
        return markers;
    }

    @Override
    public MDCAdapter getMDCAdapter() {
        return context;
    }

    @Override
    public String getRequestedApiVersion() {
        return "2.0.99";
    }

    @Override
    public void initialize() {
        // There is nothing to prepare.
    }

    /** Asks for the caller, as providers do that can show its line. */
    static final class PlainLogger extends LegacyAbstractLogger implements LocationAwareLogger {
        private static final long serialVersionUID = 1;

        private final Level lowest;

        PlainLogger(String name, Level lowest) {
            this.name = name;
            this.lowest = lowest;
        }

        @Override
        public boolean isTraceEnabled() {
            return shows(Level.TRACE);
        }

        @Override
        public boolean isDebugEnabled() {
            return shows(Level.DEBUG);
        }

        @Override
        public boolean isInfoEnabled() {
            return shows(Level.INFO);
        }

        @Override
        public boolean isWarnEnabled() {
            return shows(Level.WARN);
        }

        @Override
        public boolean isErrorEnabled() {
            return shows(Level.ERROR);
        }

        private boolean shows(Level level) {
            return level.toInt() >= lowest.toInt();
        }

        @Override
        protected String getFullyQualifiedCallerName() {
            return Logger.class.getName();
        }

        @Override
        public void log(Marker marker, String fqcn, int level, String message, Object[] arguments, Throwable thrown) {
            handle(Level.intToLevel(level), fqcn, message, arguments, thrown);
        }

        @Override
        protected void handleNormalizedLoggingCall(
                Level level, Marker marker, String message, Object[] arguments, Throwable thrown) {
            handle(level, getFullyQualifiedCallerName(), message, arguments, thrown);
        }

        private void handle(Level level, String fqcn, String message, Object[] arguments, Throwable thrown) {
            System.out.println(level + " " + name + " by " + fqcn.substring(fqcn.lastIndexOf('.') + 1) + ": "
                    + MessageFormatter.basicArrayFormat(message, arguments) + (thrown == null ? "" : " " + thrown));
        }
    }
}
