package io.hvd.transport.tcp;

import io.hvd.net.Wire;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;

/**
 * Another rank: the messages that this one waits for, and those that have come before anybody waited for them. Messages with
 * the same group and tag use the same connection, and so keep their order.
 */
final class Peer {
    private final int rank;
    private final String host;
    private final boolean dialled;
    private final Connection[] connections;
    private final Deque<Transfer> awaited = new ArrayDeque<>();
    private final Deque<Early> early = new ArrayDeque<>();
    private final EarlyBuffers buffers;

    /** A message for which no transfer had been started when it came. */
    private record Early(long group, int tag, ByteBuffer bytes) {}

    /**
     * @param dialled whether this rank dials, and the other one does not
     * @param buffers for the messages of all peers
     */
    Peer(int rank, String host, boolean dialled, int lanes, EarlyBuffers buffers) {
        this.rank = rank;
        this.host = host;
        this.dialled = dialled;
        this.buffers = buffers;
        this.connections = new Connection[lanes];
        for (int lane = 0; lane < lanes; lane++) {
            connections[lane] = new Connection(this);
        }
    }

    int rank() {
        return rank;
    }

    int lanes() {
        return connections.length;
    }

    boolean isToBeDialled() {
        return dialled && !connections[0].isOpen();
    }

    Connection connected(int lane, Wire wire, Selector selector) throws IOException {
        connections[lane].open(wire, selector);
        return connections[lane];
    }

    void send(Transfer message) {
        check(message);
        connection(message).send(message);
    }

    /** Fills the transfer from a message that has come already, or notes it for the next one. */
    void receive(Transfer place) {
        for (Iterator<Early> all = early.iterator(); all.hasNext(); ) {
            Early message = all.next();
            if (place.isFor(message.group, message.tag)) {
                all.remove();
                fill(place, message.bytes);
                return;
            }
        }
        check(place);
        awaited.add(place);
    }

    /** The transfer that a message is for; null if none has been started. */
    Transfer claim(long group, int tag, int length) {
        for (Iterator<Transfer> all = awaited.iterator(); all.hasNext(); ) {
            Transfer place = all.next();
            if (place.isFor(group, tag)) {
                all.remove();
                return fits(place, length) ? place : null;
            }
        }
        return null;
    }

    /** Keeps a message that nobody has waited for. */
    void keep(long group, int tag, ByteBuffer bytes) {
        for (Iterator<Transfer> all = awaited.iterator(); all.hasNext(); ) {
            Transfer place = all.next();
            if (place.isFor(group, tag)) { // started while the message was coming
                all.remove();
                fill(place, bytes);
                return;
            }
        }
        early.add(new Early(group, tag, bytes));
    }

    /** Memory for a message that nobody waits for yet. */
    ByteBuffer early(int length) {
        return buffers.take(length);
    }

    private void fill(Transfer place, ByteBuffer message) {
        if (fits(place, message.remaining())) {
            place.bytes().put(message);
            place.done();
        }
        buffers.give(message);
    }

    private boolean fits(Transfer place, int length) {
        if (place.bytes().remaining() == length) {
            return true;
        }
        place.refuse(this + " has sent " + length + " bytes with tag " + place.tag() + ", expected "
                + place.bytes().remaining());
        return false;
    }

    /**
     * Another connection may have ended before the last messages of this one have been read.
     *
     * @throws io.hvd.error.ShutdownException if the connection that a transfer uses has ended
     */
    void check(Transfer transfer) {
        connection(transfer).check();
    }

    private Connection connection(Transfer transfer) {
        return connections[transfer.tag() % connections.length];
    }

    @Override
    public String toString() {
        return "rank " + rank + " (" + host + ")";
    }
}
