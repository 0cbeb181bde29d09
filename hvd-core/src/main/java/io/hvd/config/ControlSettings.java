package io.hvd.config;

import io.hvd.net.Encryption;
import io.hvd.net.PortRange;
import java.util.Optional;

/**
 * The settings by which the ranks find each other.
 *
 * @param startTimeoutSeconds the time within which they must have
 * @param networkInterface the network interfaces of hvd's own sockets; empty for the address of the host's name
 * @param secret recognises the ranks of the job where they meet without MPI; empty if none is given
 * @param ports where hvd's own sockets listen
 * @param encryption of hvd's own connections
 * @param connections TCP connections between two ranks that send each other data
 */
public record ControlSettings(
        int startTimeoutSeconds,
        Optional<String> networkInterface,
        Optional<Secret> secret,
        PortRange ports,
        Encryption encryption,
        int connections) {
    /** Eleven days; sockets count their timeouts in milliseconds, as an int. */
    private static final int LONGEST_START_TIMEOUT = 1_000_000;

    private static final int MOST_CONNECTIONS = 16;

    static ControlSettings from(SettingReader reader) {
        return new ControlSettings(
                reader.between(Setting.START_TIMEOUT, 1, LONGEST_START_TIMEOUT),
                reader.text(Setting.CONTROL_INTERFACE),
                reader.text(Setting.SECRET).map(Secret::of),
                reader.parsed(Setting.PORT_RANGE, PortRange::parse, "first-last, two ports from 1 to 65535")
                        .orElse(PortRange.ANY),
                reader.flag(Setting.TLS) ? Encryption.TLS : Encryption.NONE,
                reader.between(Setting.TCP_CONNECTIONS, 1, MOST_CONNECTIONS));
    }
}
