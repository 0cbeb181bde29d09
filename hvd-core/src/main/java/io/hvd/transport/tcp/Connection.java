package io.hvd.transport.tcp;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.error.ShutdownException;
import io.hvd.net.Wire;
import io.hvd.spi.Transfers;
import java.io.EOFException;
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
    /** So much of a message is copied once more, so that a small one takes a single read with its header. */
    private static final int INBOX_BYTES = 4 << 10;

    /** The reads of one look, after which other connections have their turn. */
    private static final int READS_AT_ONCE = 64;

    private final Peer peer;
    private final Deque<Transfer> outgoing = new ArrayDeque<>();
    /** The header of the first outgoing message, and that message. */
    private final ByteBuffer[] leaving = {null, null};
    /** The place of the message that is coming, or nothing, and {@link #inbox}. */
    private final ByteBuffer[] coming = {null, null};

    /** Null until the connection is open. */
    private Wire wire;
    /** What has been read beside the message that was coming: headers, and the beginnings of messages. */
    private ByteBuffer inbox;

    private SelectionKey key;
    private boolean writing;
    /** The transfer that the coming message is for; null if there is none, or nothing is coming. */
    private Transfer target;

    private long group;
    private int tag;
    /** The number of bytes that have come so far. */
    private long read;
    /** Null while it lasts. */
    private String lost;

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
        leaving[0] = direct(HEADER_BYTES).limit(0);
        inbox = direct(INBOX_BYTES);
        coming[1] = inbox;
        connected.socket().configureBlocking(false);
        key = connected.socket().register(selector, SelectionKey.OP_READ, this);
        wire = connected;
        flush();
        if (wire.holdsBytes()) {
            serve();
        }
    }

    private static ByteBuffer direct(int bytes) {
        return BufferLedger.PROCESS.direct(Owner.TRANSFERS, bytes).order(ByteOrder.BIG_ENDIAN);
    }

    void send(Transfer message) {
        outgoing.add(message);
        if (wire != null && outgoing.size() == 1) {
            flush();
        }
    }

    /**
     * Reads and writes what is possible at once.
     *
     * @return whether anything has come
     */
    boolean serve() {
        if (!wire.socket().isOpen()) {
            return false;
        }
        if (!outgoing.isEmpty()) {
            flush();
        }
        long before = read;
        try {
            for (int i = 0; (read() && i < READS_AT_ONCE) || wire.holdsBytes(); i++) {
                // each reads as much as there is room for
            }
        } catch (EOFException e) {
            fail("its data connection has ended, so its process has left the job or died");
        } catch (IOException | CancelledKeyException e) {
            fail("its data connection broke: " + e.getMessage());
        }
        return read != before;
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

    /** @return whether more may be there: a socket that gives less than there is room for has no more */
    private boolean read() throws IOException {
        int room = inbox.remaining() + (coming[0] == null ? 0 : coming[0].remaining());
        long count = coming[0] == null ? wire.read(inbox) : wire.read(coming);
        if (count < 0) {
            throw new EOFException();
        }
        read += count;
        if (count > 0) {
            sort();
        }
        return count == room;
    }

    /** Gives what has come to the messages that it belongs to. */
    private void sort() throws IOException {
        inbox.flip();
        while (true) {
            if (coming[0] != null) {
                move(inbox, coming[0]);
                if (coming[0].hasRemaining()) {
                    break;
                }
                end();
            }
            if (inbox.remaining() < HEADER_BYTES) {
                break;
            }
            begin();
        }
        inbox.compact();
    }

    private static void move(ByteBuffer from, ByteBuffer to) {
        int bytes = Math.min(from.remaining(), to.remaining());
        to.put(to.position(), from, from.position(), bytes).position(to.position() + bytes);
        from.position(from.position() + bytes);
    }

    /** Begins with the message whose header has come. */
    private void begin() throws IOException {
        group = inbox.getLong();
        tag = inbox.getInt();
        int length = inbox.getInt();
        if (length < 0 || length > Transfers.MOST_BYTES) {
            throw new IOException("what has come is no message of hvd's: its length would be " + length
                    + " bytes, expected 0 to " + Transfers.MOST_BYTES);
        }
        target = peer.claim(group, tag, length);
        coming[0] = target == null ? peer.early(length) : target.bytes();
    }

    /** Ends with a message that has come as a whole. */
    private void end() {
        if (target == null) {
            peer.keep(group, tag, coming[0].flip());
        } else {
            target.done();
        }
        target = null;
        coming[0] = null;
    }

    /** @throws ShutdownException if it has ended, which this rank only follows */
    void check() {
        if (lost != null) {
            throw new ShutdownException(peer + " is gone: " + lost);
        }
    }

    private void fail(String why) {
        lost = lost == null ? why : lost;
        try {
            wire.socket().close();
        } catch (IOException e) {
            // The connection is being given up anyway.
        }
    }
}
