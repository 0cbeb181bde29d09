package io.hvd.backend;

import io.hvd.collective.TransportPlanes;
import io.hvd.config.HvdConfig;
import io.hvd.control.SocketStars;
import io.hvd.host.shm.SharedPlanes;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.ControlPlane;
import io.hvd.spi.Transport;
import io.hvd.spi.TransportProvider;
import io.hvd.spi.TransportProvider.Connection;
import java.util.List;
import java.util.concurrent.Executor;

/** Makes back ends of ranks that are processes: sockets for control, shared memory inside a host, and a transport. */
public final class ProcessProvider implements BackendProvider {
    private final TransportProvider transport;

    public ProcessProvider(TransportProvider transport) {
        this.transport = transport;
    }

    @Override
    public String name() {
        return transport.name();
    }

    @Override
    public Executor communicationThread() {
        return transport.communicationThread();
    }

    @Override
    public Backend open(HvdConfig config, List<Integer> ranks) {
        Connection connection = transport.connect(config, ranks);
        try {
            return over(connection, config);
        } catch (RuntimeException | Error e) {
            connection.transport().abandon("it could not join: " + e);
            throw e;
        }
    }

    private Backend over(Connection connection, HvdConfig config) {
        ControlPlane control = new SocketStars(connection.bootstrap(), config, connection::inherit);
        try {
            return over(connection, control, config);
        } catch (RuntimeException | Error e) {
            control.discard();
            throw e;
        }
    }

    private Backend over(Connection connection, ControlPlane control, HvdConfig config) {
        Bootstrap bootstrap = connection.bootstrap();
        Transport between = connection.transport();
        TransportPlanes planes = new TransportPlanes(between, bootstrap.topology(), config);
        if (!config.memory().shared()) {
            return new Backend(
                    new Backend.Description(transport.name(), between.description()), bootstrap, control, planes);
        }
        SharedPlanes shared = new SharedPlanes(planes, bootstrap.topology(), bootstrap::exchange, between.kernel());
        return new Backend(
                new Backend.Description(transport.name(), shared.note() + between.description()),
                bootstrap,
                control,
                shared);
    }
}
