package io.hvd.host.hybrid;

import io.hvd.collective.TransportPlanes;
import io.hvd.config.HvdConfig;
import io.hvd.control.SocketStars;
import io.hvd.host.local.Mailbox;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.ControlPlane;
import io.hvd.spi.DataPlanes;
import io.hvd.spi.Topology;
import io.hvd.spi.Transfers;
import io.hvd.spi.Transport;
import io.hvd.spi.TransportProvider;
import io.hvd.spi.TransportProvider.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The way from the threads of this JVM to those of the others: the connection between the processes, which the back
 * end's thread alone uses, but for the control channels, which the routers have.
 */
final class InterProcess {
    private final Bootstrap bootstrap;
    private final ControlPlane control;
    private final DataPlanes planes;
    private final String description;
    private final Grid grid;
    private final BackendThread backendThread;
    private final Transport.Group threads;
    private final List<Router> routers = new ArrayList<>();

    /** On the back end's thread, in all processes together. */
    private InterProcess(Connection connection, HvdConfig config, int threads, BackendThread backendThread) {
        this.bootstrap = connection.bootstrap();
        this.backendThread = backendThread;
        Transport transport = connection.transport();
        backendThread.beforeRest(transport.progress()::make);
        this.control = new SocketStars(bootstrap, config, connection::inherit);
        this.planes = new TransportPlanes(transport, processes(), config);
        this.description = transport.description();
        this.grid = Grid.agreed(processes(), bootstrap.exchange(Grid.tell(threads)));
        this.threads =
                transport.group(IntStream.range(0, processes().size()).boxed().toList());
    }

    /** All processes come here together, one thread of each; if it throws, the back end's thread is free again. */
    static InterProcess open(TransportProvider between, HvdConfig config, int threads, BackendThread backendThread) {
        try {
            return backendThread.call(
                    () -> new InterProcess(between.connect(config, List.of()), config, threads, backendThread));
        } catch (RuntimeException e) {
            backendThread.end();
            throw e;
        }
    }

    /** The places of the processes. */
    Topology processes() {
        return bootstrap.topology();
    }

    int generation() {
        return bootstrap.generation();
    }

    /** The data planes between the processes. */
    DataPlanes planes() {
        return planes;
    }

    /** The transport between the processes, in a few words. */
    String description() {
        return description;
    }

    Grid grid() {
        return grid;
    }

    BackendThread backendThread() {
        return backendThread;
    }

    Transfers transfers() {
        return threads.transfers();
    }

    /** Opens a control channel. One thread of each process comes here. */
    Router openRouter(List<Mailbox> mailboxes) {
        Router router = Router.start(backendThread.call(control::open), mailboxes, grid, routers.size());
        routers.add(router);
        return router;
    }

    /** The words of all ranks, by rank. One thread of each process comes here. @param mine the words of this process's threads, by thread */
    List<byte[]> exchange(List<byte[]> mine) {
        byte[] said = joined(mine);
        List<byte[]> all = new ArrayList<>();
        backendThread.call(() -> bootstrap.exchange(said)).forEach(words -> all.addAll(parted(words)));
        return all;
    }

    static byte[] joined(List<byte[]> parts) {
        return MessageWriter.encode(out -> out.writeList(parts, MessageWriter::writeBytes));
    }

    static List<byte[]> parted(byte[] joined) {
        return MessageReader.decode(
                "what the ranks of a process say", joined, in -> in.readList(MessageReader::readBytes));
    }

    /** Leaves in order. One thread of each process comes here, after all of them have come to the end. */
    void close() {
        routers.forEach(Router::close);
        backendThread.call(() -> {
            backendThread.beforeRest(() -> Long.MAX_VALUE);
            planes.leave();
            control.close();
            threads.close();
            planes.close();
            return null;
        });
        backendThread.end();
    }
}
