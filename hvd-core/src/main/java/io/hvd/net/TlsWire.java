package io.hvd.net;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;

/**
 * Bytes within TLS. What the engine has encrypted waits here until the socket takes it, and what it has decrypted until
 * somebody reads it. The end of the connection is that of the socket, without a goodbye of TLS: hvd's messages have their
 * lengths, so one that is cut off is noticed.
 */
final class TlsWire implements Wire {
    /** So many records are read or written at a time. */
    private static final int RECORDS = 2;

    private final SocketChannel socket;
    private final SSLEngine engine;
    private final int recordBytes;
    /** What has come and is not decrypted, from the position to the limit; so are the other two. */
    private final ByteBuffer coming;
    /** What is decrypted and not read. */
    private final ByteBuffer plain;
    /** What is encrypted and not sent. */
    private final ByteBuffer leaving;
    /** Whether what has come is less than a record. */
    private boolean partial;

    /** @param come bytes that were read from the socket already */
    TlsWire(SocketChannel socket, SSLEngine engine, ByteBuffer come) throws IOException {
        this.socket = socket;
        this.engine = engine;
        this.recordBytes = engine.getSession().getPacketBufferSize();
        this.coming = ByteBuffer.allocate(RECORDS * recordBytes).put(come).flip();
        this.plain = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize())
                .limit(0);
        this.leaving = ByteBuffer.allocate(RECORDS * recordBytes).limit(0);
        this.partial = !coming.hasRemaining();
        engine.beginHandshake();
    }

    @Override
    public SocketChannel socket() {
        return socket;
    }

    @Override
    public boolean shake() throws IOException {
        try {
            while (true) {
                HandshakeStatus status = engine.getHandshakeStatus();
                if (status == HandshakeStatus.NEED_TASK) {
                    runTasks();
                } else if (status == HandshakeStatus.NEED_UNWRAP) {
                    if (!flush() || !unwrapOne()) {
                        return false;
                    }
                } else if (status == HandshakeStatus.NEED_WRAP) {
                    if (!flush()) {
                        return false;
                    }
                    wrap();
                } else {
                    return flush();
                }
            }
        } catch (SSLException e) {
            sendAlert();
            throw new SSLException("TLS has failed: " + e.getMessage(), e);
        }
    }

    private void runTasks() {
        for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
            task.run();
        }
    }

    /** @return false if there is no whole record now */
    private boolean unwrapOne() throws IOException {
        while (partial) {
            int count = fill();
            if (count < 0) {
                throw new EOFException("the connection ended within the TLS handshake");
            }
            if (count == 0) {
                return false;
            }
        }
        unwrap(plain.clear());
        plain.flip();
        return true;
    }

    private SSLEngineResult unwrap(ByteBuffer... into) throws IOException {
        SSLEngineResult result = engine.unwrap(coming, into);
        partial = result.getStatus() == Status.BUFFER_UNDERFLOW || !coming.hasRemaining();
        return result;
    }

    private int fill() throws IOException {
        coming.compact();
        try {
            int count = socket.isBlocking() ? PlainWire.readWithLimit(socket, coming) : socket.read(coming);
            partial &= count <= 0;
            return count;
        } finally {
            coming.flip();
        }
    }

    private int wrap(ByteBuffer... from) throws IOException {
        leaving.compact();
        try {
            SSLEngineResult result = engine.wrap(from, leaving);
            if (result.getStatus() != Status.OK) {
                throw new IOException("the TLS connection takes no more bytes: " + result.getStatus());
            }
            return result.bytesConsumed();
        } finally {
            leaving.flip();
        }
    }

    /** Tells the other end why it is refused, if it still listens. */
    private void sendAlert() {
        try {
            boolean more = true;
            while (more && flush()) {
                leaving.compact();
                try {
                    more = engine.wrap(ByteBuffer.allocate(0), leaving).bytesProduced() > 0;
                } finally {
                    leaving.flip();
                }
            }
        } catch (IOException e) {
            // It is being given up anyway.
        }
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        return (int) read(new ByteBuffer[] {into});
    }

    @Override
    public long read(ByteBuffer[] into) throws IOException {
        while (!plain.hasRemaining()) {
            if (partial) {
                int count = fill();
                if (count <= 0) {
                    return count;
                }
            }
            long count = decrypt(into);
            if (count != 0) {
                return count;
            }
        }
        return hand(into);
    }

    /** @return the bytes that have gone where they are wanted; 0 if they are plain now, or there are none; -1 at the end */
    private long decrypt(ByteBuffer[] into) throws IOException {
        SSLEngineResult result;
        if (remaining(into) >= plain.capacity()) {
            result = unwrap(into);
        } else {
            result = unwrap(plain.clear());
            plain.flip();
        }
        if (result.getHandshakeStatus() == HandshakeStatus.NEED_TASK) {
            runTasks();
        }
        if (result.getHandshakeStatus() == HandshakeStatus.NEED_WRAP && flush()) {
            wrap(); // new keys, which the other end has asked for; they wait for the next flush if need be
            flush();
        }
        if (result.getStatus() == Status.CLOSED) {
            return -1;
        }
        return plain.hasRemaining() ? 0 : result.bytesProduced();
    }

    private long hand(ByteBuffer[] into) {
        int before = plain.remaining();
        for (ByteBuffer one : into) {
            int count = Math.min(one.remaining(), plain.remaining());
            one.put(plain.slice(plain.position(), count));
            plain.position(plain.position() + count);
        }
        return before - plain.remaining();
    }

    private static long remaining(ByteBuffer[] all) {
        long bytes = 0;
        for (ByteBuffer one : all) {
            bytes += one.remaining();
        }
        return bytes;
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        return (int) write(new ByteBuffer[] {from});
    }

    @Override
    public long write(ByteBuffer[] from) throws IOException {
        long taken = 0;
        while (flush() && remaining(from) > 0) {
            while (remaining(from) > 0 && leaving.capacity() - leaving.limit() >= recordBytes) {
                taken += wrap(from);
            }
        }
        return taken;
    }

    @Override
    public boolean flush() throws IOException {
        try {
            while (leaving.hasRemaining()) {
                if (socket.write(leaving) == 0) {
                    return false;
                }
            }
            leaving.limit(0);
            return true;
        } catch (IOException e) {
            leaving.limit(leaving.position()); // nobody will get it
            throw e;
        }
    }

    @Override
    public boolean holdsBytes() {
        return plain.hasRemaining() || !partial;
    }
}
