package io.hvd.net;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.security.NoSuchAlgorithmException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;

/** Whether the connections of a job are encrypted; all of its processes have the same. */
public enum Encryption {
    NONE {
        @Override
        public void requireKey() {
            // Nothing is encrypted.
        }

        @Override
        Wire called(SocketChannel socket) {
            return new PlainWire(socket);
        }

        @Override
        Wire answered(SocketChannel socket, ByteBuffer come) {
            throw new IllegalStateException("the bytes of a plain connection are read by its user");
        }
    },

    /**
     * TLS 1.3 by Java's default context, which takes keys and trusted certificates from where the properties
     * {@code javax.net.ssl.keyStore}, {@code trustStore} and their like say. Both ends show a certificate, and the other
     * one has to trust it; no certificate has to name a host.
     */
    TLS {
        @Override
        public void requireKey() {
            try {
                answerOneself();
            } catch (IOException e) {
                throw new HvdException(
                        ErrorId.BAD_SETTING,
                        "HVD_TLS is \"1\", expected 0, or a key that Java's properties javax.net.ssl.keyStore and"
                                + " keyStorePassword name; TLS fails in this process alone: " + e.getMessage(),
                        e);
            }
        }

        @Override
        Wire called(SocketChannel socket) throws IOException {
            SSLEngine engine = engine();
            engine.setUseClientMode(true);
            return new TlsWire(socket, engine, ByteBuffer.allocate(0));
        }

        @Override
        Wire answered(SocketChannel socket, ByteBuffer come) throws IOException {
            SSLEngine engine = engine();
            engine.setUseClientMode(false);
            engine.setNeedClientAuth(true);
            return new TlsWire(socket, engine, come);
        }
    };

    /**
     * Whether this process can answer a caller at all. Without that, all processes wait until the limit of the start.
     *
     * @throws HvdException if it has no key
     */
    public abstract void requireKey();

    /** The end of a connection that this process has made. */
    abstract Wire called(SocketChannel socket) throws IOException;

    /**
     * The end of a connection that another process has made.
     *
     * @param come its first bytes, which have been read
     */
    abstract Wire answered(SocketChannel socket, ByteBuffer come) throws IOException;

    /** A handshake within this process, up to the server's first answer, which is where it needs its key. */
    private static void answerOneself() throws IOException {
        SSLEngine client = engine();
        client.setUseClientMode(true);
        SSLEngine server = engine();
        server.setUseClientMode(false);
        ByteBuffer words = ByteBuffer.allocate(client.getSession().getPacketBufferSize());
        ByteBuffer nothing = ByteBuffer.allocate(0);
        client.wrap(nothing, words);
        server.unwrap(words.flip(), ByteBuffer.allocate(server.getSession().getApplicationBufferSize()));
        for (Runnable task = server.getDelegatedTask(); task != null; task = server.getDelegatedTask()) {
            task.run();
        }
        server.wrap(nothing, words.clear());
    }

    private static SSLEngine engine() throws IOException {
        try {
            SSLEngine engine = SSLContext.getDefault().createSSLEngine();
            engine.setEnabledProtocols(new String[] {"TLSv1.3"});
            return engine;
        } catch (NoSuchAlgorithmException e) {
            throw new IOException("the keys or certificates for TLS cannot be read: " + e.getMessage(), e);
        }
    }
}
