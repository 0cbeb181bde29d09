package io.hvd.config;

import java.util.Optional;

/**
 * The settings by which the ranks find each other.
 *
 * @param startTimeoutSeconds the time within which they must have
 * @param networkInterface the network interfaces of hvd's own sockets; empty for the address of the host's name
 */
public record ControlSettings(int startTimeoutSeconds, Optional<String> networkInterface) {
    /** Eleven days; sockets count their timeouts in milliseconds, as an int. */
    private static final int LONGEST_START_TIMEOUT = 1_000_000;

    static ControlSettings from(SettingReader reader) {
        return new ControlSettings(
                reader.between(Setting.START_TIMEOUT, 1, LONGEST_START_TIMEOUT),
                reader.text(Setting.CONTROL_INTERFACE));
    }
}
