package io.hvd.backend.hybrid;

import io.hvd.backend.local.LocalHub;
import io.hvd.backend.local.Mailbox;
import io.hvd.config.HvdConfig;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Transfers;
import java.util.ArrayList;
import java.util.List;

/**
 * What leads from the threads of this JVM to those of the others: one back end between the processes, and the carrier,
 * its only user but for the control channels, which the routers have.
 */
final class Bridge {
    private final Backend processes;
    private final Grid grid;
    private final Carrier carrier;
    private final Transfers transfers;
    private final List<Router> routers = new ArrayList<>();

    private Bridge(Backend processes, Grid grid, Carrier carrier, LocalHub hub) {
        this.processes = processes;
        this.grid = grid;
        this.carrier = carrier;
        this.transfers = carrier.call(processes::transfers);
        routers.add(Router.start(processes.control(), hub.mailboxes(), grid, 0));
    }

    /** All processes come here together, one thread of each; if it throws, the carrier is free again. */
    static Bridge open(BackendProvider between, HvdConfig config, LocalHub hub, Carrier carrier) {
        try {
            Backend processes = carrier.call(() -> {
                Backend opened = between.open(config, List.of());
                carrier.beforeRest(opened.progress()::make);
                return opened;
            });
            List<byte[]> told = carrier.call(() -> processes.exchange(Grid.tell(hub.size())));
            return new Bridge(processes, Grid.agreed(processes.topology(), told), carrier, hub);
        } catch (RuntimeException e) {
            carrier.end();
            throw e;
        }
    }

    Backend processes() {
        return processes;
    }

    Grid grid() {
        return grid;
    }

    Carrier carrier() {
        return carrier;
    }

    Transfers transfers() {
        return transfers;
    }

    /** The engines' messages. */
    Router control() {
        return routers.get(0);
    }

    /** One more control channel. One thread of each process comes here. */
    Router openRouter(List<Mailbox> mailboxes) {
        Router router = Router.start(carrier.call(processes::openChannel), mailboxes, grid, routers.size());
        routers.add(router);
        return router;
    }

    /** What all ranks have to say, by rank. One thread of each process comes here. @param mine by thread */
    List<byte[]> exchange(List<byte[]> mine) {
        byte[] said = joined(mine);
        List<byte[]> all = new ArrayList<>();
        carrier.call(() -> processes.exchange(said)).forEach(words -> all.addAll(parted(words)));
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
        carrier.call(() -> {
            carrier.beforeRest(() -> Long.MAX_VALUE);
            processes.close();
            return null;
        });
        carrier.end();
    }
}
