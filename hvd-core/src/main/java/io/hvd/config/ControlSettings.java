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
 * @param mpi the one of them that chooses MPI there, such as HOROVOD_CONTROLLER=mpi; empty if none does
 */
public record ControlSettings(
        int startTimeoutSeconds,
        Optional<String> networkInterface,
        Optional<Secret> secret,
        PortRange ports,
        Encryption encryption,
        int connections,
        boolean gloo,
        Optional<String> mpi) {
    /** Eleven days; sockets count their timeouts in milliseconds, as an int. */
    private static final int LONGEST_START_TIMEOUT = 1_000_000;

    private static final int MOST_CONNECTIONS = 16;

    static ControlSettings from(SettingReader reader) {
        Optional<Plane> controller = plane(reader, Setting.CONTROLLER);
        Optional<Plane> data = plane(reader, Setting.CPU_OPERATIONS);
        Setting chooses = data.isPresent() ? Setting.CPU_OPERATIONS : Setting.CONTROLLER;
        Optional<Plane> chosen = data.or(() -> controller);
        return new ControlSettings(
                startTimeout(reader),
                reader.text(Setting.CONTROL_INTERFACE),
                reader.text(Setting.SECRET).map(Secret::of),
                reader.parsed(Setting.PORT_RANGE, PortRange::parse, "first-last, two ports from 1 to 65535")
                        .orElse(PortRange.ANY),
                reader.flag(Setting.TLS) ? Encryption.TLS : Encryption.NONE,
                reader.between(Setting.TCP_CONNECTIONS, 1, MOST_CONNECTIONS),
                chosen.filter(Plane.GLOO::equals).isPresent(),
                chosen.filter(Plane.MPI::equals).map(mpi -> chooses.variable() + "=mpi"));
    }

    private static int startTimeout(SettingReader reader) {
        int gloo = reader.text(Setting.GLOO_TIMEOUT).isPresent()
                ? reader.between(Setting.GLOO_TIMEOUT, 1, LONGEST_START_TIMEOUT)
                : 0;
        return gloo > 0 && reader.text(Setting.START_TIMEOUT).isEmpty()
                ? gloo
                : reader.between(Setting.START_TIMEOUT, 1, LONGEST_START_TIMEOUT);
    }

    private static Optional<Plane> plane(SettingReader reader, Setting setting) {
        return reader.text(setting).map(given -> reader.choice(setting, Plane.class));
    }

    /** Horovod's names of what connects processes. */
    private enum Plane {
        MPI,
        GLOO
    }
}
