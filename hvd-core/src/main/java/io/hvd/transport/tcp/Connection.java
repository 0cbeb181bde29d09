package io.hvd.transport.tcp;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.net.Wire;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * A TCP connection to another rank. Each message has a header in front: its group (8 bytes), tag (4) and length in bytes (4).
 * A message goes from the sender's buffer to the socket, and from there to the buffer of the transfer that waits for it, if
 * there is one. Until the connection is open, messages wait in its queue.
 */
final class Connection {
    private static final int HEADER_BYTES = Long.BYTES + 2 * Integer.BYTES;
    /** The reads of one look, after which other connections have their turn. */
    private static final int READS_AT_ONCE = 64;

    private final Peer peer;
    private final Deque<Transfer> outgoing = new ArrayDeque<>();
    /** The header of the first outgoing message, and that message. */
    private final ByteBuffer[] leaving = {null, null};
    /** The place of the message that is coming, or nothing, and the next header. */
    private final ByteBuffer[] coming = {null, null};

    /** Null until the connection is open. */
    private Wire wire;

    private SelectionKey key;
    private boolean writing;
    /** The transfer that the coming message is for; null if there is none, or nothing is coming. */
    private Transfer target;

    private long group;
    private int tag;

    Connection(Peer peer) {
        this.peer = peer;
    }

    boolean isOpen() {
        return wire != null;
    }

    void open(Wire connected, Selector selector) throws IOException {
        if (wire != null) {
            connected.socket().close(); // the first one counts
            return;
        }
        leaving[0] = header().limit(0);
        coming[1] = header();
        connected.socket().configureBlocking(false);
        key = connected.socket().register(selector, SelectionKey.OP_READ, this);
        wire = connected;
        flush();
        if (wire.holdsBytes()) {
            serve();
        }
    }

    private static ByteBuffer header() {
        return BufferLedger.PROCESS.direct(Owner.TRANSFERS, HEADER_BYTES).order(ByteOrder.BIG_ENDIAN);
    }

    void send(Transfer message) {
        outgoing.add(message);
        if (wire != null && outgoing.size() == 1) {
            flush();
        }
    }

    /** Reads and writes what is possible at once. */
    void serve() {
        try {
            if (key.isWritable()) {
                flush();
            }
            for (int i = 0; (i < READS_AT_ONCE || wire.holdsBytes()) && read(); i++) {
                // each reads as much as the place has room for
            }
        } catch (IOException | CancelledKeyException e) {
            fail("its data connection broke: " + e.getMessage());
        }
    }

    private void flush() {
        try {
            while (!outgoing.isEmpty() && write(outgoing.element())) {
                outgoing.remove().done();
            }
            writes(!outgoing.isEmpty());
        } catch (IOException | CancelledKeyException e) {
            fail("its data connection broke: " + e.getMessage());
        }
    }

    /** Has the selector tell when the socket takes more. */
    private void writes(boolean wanted) {
        if (writing != wanted) {
            writing = wanted;
            key.interestOps(wanted ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_READ);
        }
    }

    /** @return whether the socket has taken all of it */
    private boolean write(Transfer message) throws IOException {
        if (leaving[1] != message.bytes()) {
            leaving[1] = message.bytes();
            leaving[0].clear();
            leaving[0]
                    .putLong(message.group())
                    .putInt(message.tag())
                    .putInt(message.bytes().remaining())
                    .flip();
        }
        wire.write(leaving);
        boolean all = !leaving[0].hasRemaining() && !leaving[1].hasRemaining() && wire.flush();
        if (all) {
            leaving[1] = null;
        }
        return all;
    }

    /** @return whether more may be there */
    private boolean read() throws IOException {
        long count = coming[0] == null ? wire.read(coming[1]) : wire.read(coming);
        if (count < 0) {
            fail("its data connection has ended, so its process has left the job or died");
            return false;
        }
        while ((coming[0] != null && !coming[0].hasRemaining()) || (coming[0] == null && !coming[1].hasRemaining())) {
            step();
        }
        return count > 0;
    }

    /** Goes on after a header, or a message, that is complete. */
    private void step() {
        if (coming[0] == null) {
            ByteBuffer header = coming[1].flip();
            group = header.getLong();
            tag = header.getInt();
            int length = header.getInt();
            coming[1].clear();
            target = peer.claim(group, tag, length);
            coming[0] = target == null ? peer.early(length) : target.bytes();
            return;
        }
        if (target == null) {
            peer.keep(group, tag, coming[0].flip());
        } else {
            target.done();
        }
        target = null;
        coming[0] = null;
    }

    private void fail(String why) {
        peer.lost(why);
        close();
    }

    /** Any thread may call this. */
    void close() {
        try {
            wire.socket().close();
        } catch (IOException e) {
            // The connection is being given up anyway.
        }
    }
}
