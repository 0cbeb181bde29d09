package io.hvd.host.hybrid;

import io.hvd.config.HvdConfig;
import io.hvd.host.local.LocalHub;
import io.hvd.host.local.Mailbox;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Transfers;
import java.util.ArrayList;
import java.util.List;

/**
 * What leads from the threads of this JVM to those of the others: one back end between the processes, and the back end's thread,
 * its only user but for the control channels, which the routers have.
 */
final class InterProcess {
    private final Backend processes;
    private final Grid grid;
    private final BackendThread backendThread;
    private final Transfers transfers;
    private final List<Router> routers = new ArrayList<>();

    private InterProcess(Backend processes, Grid grid, BackendThread backendThread, LocalHub hub) {
        this.processes = processes;
        this.grid = grid;
        this.backendThread = backendThread;
        this.transfers = backendThread.call(processes::transfers);
        routers.add(Router.start(processes.control(), hub.mailboxes(), grid, 0));
    }

    /** All processes come here together, one thread of each; if it throws, the back end's thread is free again. */
    static InterProcess open(BackendProvider between, HvdConfig config, LocalHub hub, BackendThread backendThread) {
        try {
            Backend processes = backendThread.call(() -> {
                Backend opened = between.open(config, List.of());
                backendThread.beforeRest(opened.progress()::make);
                return opened;
            });
            List<byte[]> told = backendThread.call(() -> processes.exchange(Grid.tell(hub.size())));
            return new InterProcess(processes, Grid.agreed(processes.topology(), told), backendThread, hub);
        } catch (RuntimeException e) {
            backendThread.end();
            throw e;
        }
    }

    Backend processes() {
        return processes;
    }

    Grid grid() {
        return grid;
    }

    BackendThread backendThread() {
        return backendThread;
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
        Router router = Router.start(backendThread.call(processes::openChannel), mailboxes, grid, routers.size());
        routers.add(router);
        return router;
    }

    /** What all ranks have to say, by rank. One thread of each process comes here. @param mine what this process's threads have to say, by thread */
    List<byte[]> exchange(List<byte[]> mine) {
        byte[] said = joined(mine);
        List<byte[]> all = new ArrayList<>();
        backendThread.call(() -> processes.exchange(said)).forEach(words -> all.addAll(parted(words)));
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
            processes.close();
            return null;
        });
        backendThread.end();
    }
}
