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
 * @param gloo whether Horovod's variables choose Gloo, in the place of which hvd has TCP, where HVD_BACKEND leaves it open
 */
public record ControlSettings(
        int startTimeoutSeconds,
        Optional<String> networkInterface,
        Optional<Secret> secret,
        PortRange ports,
        Encryption encryption,
        int connections,
        boolean gloo) {
    /** Eleven days; sockets count their timeouts in milliseconds, as an int. */
    private static final int LONGEST_START_TIMEOUT = 1_000_000;

    private static final int MOST_CONNECTIONS = 16;

    static ControlSettings from(SettingReader reader) {
        return new ControlSettings(
                startTimeout(reader),
                reader.text(Setting.CONTROL_INTERFACE),
                reader.text(Setting.SECRET).map(Secret::of),
                reader.parsed(Setting.PORT_RANGE, PortRange::parse, "first-last, two ports from 1 to 65535")
                        .orElse(PortRange.ANY),
                reader.flag(Setting.TLS) ? Encryption.TLS : Encryption.NONE,
                reader.between(Setting.TCP_CONNECTIONS, 1, MOST_CONNECTIONS),
                plane(reader, Setting.CONTROLLER) == Plane.GLOO | plane(reader, Setting.CPU_OPERATIONS) == Plane.GLOO);
    }

    private static int startTimeout(SettingReader reader) {
        int gloo = reader.text(Setting.GLOO_TIMEOUT).isPresent()
                ? reader.between(Setting.GLOO_TIMEOUT, 1, LONGEST_START_TIMEOUT)
                : 0;
        return gloo > 0 && reader.text(Setting.START_TIMEOUT).isEmpty()
                ? gloo
                : reader.between(Setting.START_TIMEOUT, 1, LONGEST_START_TIMEOUT);
    }

    private static Plane plane(SettingReader reader, Setting setting) {
        return reader.text(setting).isPresent() ? reader.choice(setting, Plane.class) : Plane.MPI;
    }

    /** Horovod's names of what connects processes. */
    private enum Plane {
        MPI,
        GLOO
    }
}
