package io.hvd.net;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.security.NoSuchAlgorithmException;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;

/** Whether the connections of a job are encrypted; all of its processes have the same. */
public enum Encryption {
    NONE {
        @Override
        public Optional<String> obstacle() {
            return Optional.empty();
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
        public Optional<String> obstacle() {
            try {
                greet(engine());
                return Optional.empty();
            } catch (IOException e) {
                return Optional.of(e.getMessage());
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

    /** Why this process cannot encrypt, such as that it has no key; empty if it can. */
    public abstract Optional<String> obstacle();

    /** The end of a connection that this process has made. */
    abstract Wire called(SocketChannel socket) throws IOException;

    /**
     * The end of a connection that another process has made.
     *
     * @param come its first bytes, which have been read
     */
    abstract Wire answered(SocketChannel socket, ByteBuffer come) throws IOException;

    /** Answers the first words of a caller within this process, which takes a key. */
    private static void greet(SSLEngine server) throws IOException {
        SSLEngine client = engine();
        client.setUseClientMode(true);
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
