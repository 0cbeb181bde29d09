package io.hvd.transport.tcp;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.net.Wire;
import io.hvd.spi.Abandonment;
import io.hvd.spi.Transfers;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * This rank's connections to the others. A pair of ranks is connected when the first of the two begins a transfer: the one
 * with the higher number dials, and the other one's messages wait until it has. The communication thread uses this class; any
 * thread may abandon it.
 */
final class Links {
    /** A look at the sockets costs about a microsecond, and a caller with many transfers asks each of them. */
    private static final long BETWEEN_LOOKS_NANOS = 1_000;
    /** So many connections are read without asking first which of them has something, which takes as long as a read. */
    private static final int FEW = 2;

    private final Selector selector;
    private final Dialler dialler;
    private final Abandonment abandonment = new Abandonment();
    private final List<Peer> peers;
    /** Made once, as every look at the sockets needs it. */
    private final Dialler.Receiver receiver;

    /** All connections that are open. */
    private final List<Connection> open = new ArrayList<>();

    private boolean idle;
    private long looked;

    /**
     * @param lanes connections to each of the other ranks
     * @param selector closed with these links, and so is the dialler
     */
    Links(int rank, List<String> hosts, Dialler dialler, int lanes, Selector selector) {
        this.selector = selector;
        this.dialler = dialler;
        EarlyBuffers early = new EarlyBuffers();
        this.peers = IntStream.range(0, hosts.size())
                .mapToObj(other -> new Peer(other, hosts.get(other), other < rank, lanes, early))
                .toList();
        this.receiver = this::connected;
    }

    Transfer send(long group, int tag, ByteBuffer bytes, int to) {
        if (bytes.remaining() > Transfers.MOST_BYTES) {
            throw new IllegalArgumentException("a message of " + bytes.remaining() + " bytes for " + peers.get(to)
                    + " with tag " + tag + ", the most are " + Transfers.MOST_BYTES);
        }
        Transfer transfer = new Transfer(this, group, tag, bytes.slice(), begun(to));
        transfer.peer().send(transfer);
        return transfer;
    }

    Transfer receive(long group, int tag, ByteBuffer bytes, int from) {
        Transfer transfer = new Transfer(this, group, tag, bytes.slice(), begun(from));
        transfer.peer().receive(transfer);
        return transfer;
    }

    private Peer begun(int rank) {
        abandonment.check();
        Peer peer = peers.get(rank);
        if (peer.isToBeDialled()) {
            connect(peer);
        }
        return peer;
    }

    private void connect(Peer peer) {
        try {
            for (int lane = 0; lane < peer.lanes(); lane++) {
                connected(peer.rank(), lane, dialler.dial(peer.rank(), lane));
            }
        } catch (IOException | ClosedSelectorException e) {
            abandonment.check();
            String why =
                    peer + " at " + dialler.address(peer.rank()) + " cannot be reached for data: " + e.getMessage();
            if (e instanceof ConnectException) { // it has told this address, and listens there as long as it lives
                throw new ShutdownException(why + ": its process has ended, or a firewall is between", e);
            }
            throw new HvdException(ErrorId.BACK_END, why, e);
        }
    }

    private void connected(int rank, int lane, Wire wire) throws IOException {
        try {
            Connection connection = peers.get(rank).connected(lane, wire, selector);
            abandonment.check(); // whoever has abandoned it closes those that it finds, and may not have found this one
            if (!open.contains(connection)) {
                open.add(connection);
            }
        } catch (IOException | RuntimeException e) {
            wire.socket().close();
            throw e;
        }
    }

    /** @throws io.hvd.error.ShutdownException if the job has been given up */
    void check() {
        abandonment.check();
    }

    /** Moves on whatever can be moved on without waiting. */
    void move() {
        abandonment.check();
        long now = System.nanoTime();
        if (idle && now - looked < BETWEEN_LOOKS_NANOS) {
            return;
        }
        try {
            dialler.accepted(receiver);
            idle = open.size() > FEW ? selector.selectNow(Links::serve) == 0 : !serveAll();
        } catch (IOException | ClosedSelectorException e) {
            abandonment.check();
            throw new HvdException(ErrorId.BACK_END, "looking at the data connections failed: " + e, e);
        }
        looked = now;
    }

    private boolean serveAll() {
        boolean come = false;
        for (int i = 0; i < open.size(); i++) {
            come |= open.get(i).serve();
        }
        return come;
    }

    private static void serve(SelectionKey key) {
        ((Connection) key.attachment()).serve();
    }

    /** Waits until something comes, or for a millisecond. */
    void await() {
        try {
            selector.select(Links::serve, 1);
            idle = false;
        } catch (IOException | ClosedSelectorException e) {
            // The next look says what has happened.
        }
    }

    /** Ends every wait, and closes all connections, by which the other ranks learn of it. */
    void abandon(String why) {
        abandonment.abandon(why);
        close();
    }

    /** Any thread may call this, also at the same time as another one. */
    synchronized void close() {
        dialler.close();
        if (selector.isOpen()) {
            List.copyOf(selector.keys()).forEach(Links::close);
        }
        try {
            selector.close();
        } catch (IOException e) {
            throw new HvdException(ErrorId.BACK_END, "closing the data connections failed: " + e, e);
        }
    }

    private static void close(SelectionKey key) {
        try {
            key.channel().close();
        } catch (IOException e) {
            // The connection is being given up anyway.
        }
    }
}
