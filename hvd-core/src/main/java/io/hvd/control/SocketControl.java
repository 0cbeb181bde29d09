package io.hvd.control;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.net.FramedConnection;
import io.hvd.net.StartupExchange;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.Topology;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * A control channel of processes: a star of TCP connections around rank 0, with a selector to wait on.
 *
 * <p>Waiting on MPI itself means polling, which takes cores away from the training; a selector sleeps until a message
 * comes or an operation is submitted. It also notices the death of a peer at once.
 */
public final class SocketControl implements ControlChannel, AutoCloseable {
    private final Selector selector;
    private final SelectorWait wait;
    private final Map<Integer, Peer> peers = new HashMap<>();
    /** Those that have spoken while they were connected, of which the selector does not tell. */
    private final List<Peer> early = new ArrayList<>();

    private SocketControl(Selector selector, SelectorWait.Clock clock) {
        this.selector = selector;
        this.wait = new SelectorWait(selector, clock);
    }

    /**
     * Connects every rank with rank 0; all ranks call it together.
     *
     * @param exchange gives every rank the bytes of all ranks
     * @throws HvdException on all ranks if one of them could not do its part
     */
    public static SocketControl connect(Topology topology, HvdConfig config, Function<byte[], List<byte[]>> exchange) {
        return connect(topology, config, exchange, 1).get(0);
    }

    /** Connects several stars as above, with no more exchanges than for one. */
    public static List<SocketControl> connect(
            Topology topology, HvdConfig config, Function<byte[], List<byte[]>> exchange, int stars) {
        return connect(new StarConnector(topology, config, stars), topology, exchange, SelectorWait.Clock.REAL);
    }

    /** Connects as above, with another clock. */
    static List<SocketControl> connect(
            StarConnector star, Topology topology, Function<byte[], List<byte[]>> exchange, SelectorWait.Clock clock) {
        String rank = "rank " + topology.rank() + " (" + topology.host() + ")";
        List<SocketControl> controls = new ArrayList<>();
        try (StarConnector connector = star) {
            List<byte[]> told = StartupExchange.hold(
                    rank + " could not open its control plane",
                    () -> {
                        for (int i = 0; i < connector.stars(); i++) {
                            controls.add(new SocketControl(Selector.open(), clock));
                        }
                        return connector.invite();
                    },
                    exchange);
            StartupExchange.hold(
                    rank + " could not connect its control plane",
                    () -> {
                        connector.connect(
                                told.get(0),
                                (number, other, connection) ->
                                        controls.get(number).add(other, connection));
                        return new byte[0];
                    },
                    exchange);
            return controls;
        } catch (RuntimeException e) {
            controls.forEach(SocketControl::close);
            throw e;
        }
    }

    private void add(int rank, FramedConnection connection) throws IOException {
        Peer peer = new Peer(rank, connection);
        peers.put(rank, peer);
        if (connection.holdsBytes()) {
            early.add(peer);
        }
    }

    @Override
    public void send(int rank, ByteBuffer message) {
        Peer peer = peers.get(rank);
        if (peer == null) {
            return; // this loss has been reported already
        }
        peer.connection.enqueue(message);
        peer.flush();
    }

    @Override
    public boolean isFlushed() {
        return peers.values().stream().allMatch(peer -> peer.connection.isFlushed());
    }

    @Override
    public void receive(long nanos, Inbox inbox) {
        if (!early.isEmpty()) {
            List<Peer> spoken = List.copyOf(early);
            early.clear();
            spoken.forEach(peer -> peer.serve(inbox));
            return;
        }
        try {
            wait.select(nanos);
        } catch (IOException e) {
            throw new HvdException(ErrorId.BACK_END, "waiting on the control plane failed: " + e, e);
        }
        var ready = selector.selectedKeys();
        ready.forEach(key -> ((Peer) key.attachment()).serve(inbox));
        ready.clear();
    }

    @Override
    public void wakeUp() {
        wait.wakeUp();
    }

    @Override
    public void close() {
        peers.values().forEach(Peer::hangUp);
        try {
            selector.close();
        } catch (IOException e) {
            throw new HvdException(ErrorId.BACK_END, "closing the control plane failed: " + e, e);
        }
    }

    /** The other end of one connection. */
    private final class Peer {
        /** The longest message, far longer than a plan for all tensors of a model. */
        private static final int LONGEST_MESSAGE = 1 << 30;

        private final int rank;
        private final FramedConnection connection;
        private final SelectionKey key;

        Peer(int rank, FramedConnection connection) throws IOException {
            this.rank = rank;
            this.connection = connection;
            this.key = connection.register(selector, this);
        }

        /**
         * Writes what the socket takes; the selector tells when it takes the rest. A broken connection is noticed when
         * reading.
         */
        void flush() {
            try {
                key.interestOps(
                        connection.flush() ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE);
            } catch (IOException e) {
                connection.discard();
            }
        }

        void serve(Inbox inbox) {
            if (key.isValid() && key.isWritable()) {
                flush();
            }
            try {
                if (!connection.poll(LONGEST_MESSAGE, message -> inbox.message(rank, message))) {
                    lose(inbox, "its control connection was closed without a goodbye, so its process has ended");
                }
            } catch (IOException e) {
                lose(inbox, "its control connection broke: " + e.getMessage());
            }
        }

        private void lose(Inbox inbox, String why) {
            hangUp();
            peers.remove(rank);
            inbox.lost(rank, why);
        }

        void hangUp() {
            key.cancel();
            try {
                connection.close();
            } catch (IOException e) {
                // The connection is being closed anyway.
            }
        }
    }
}
