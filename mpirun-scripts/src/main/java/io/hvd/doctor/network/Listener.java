package io.hvd.doctor.network;

import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.MalformedMessageException;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.net.PortRange;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;

/**
 * Lets the other hosts measure their way to this one, until it is closed: on each address a port, for those who know the
 * secret. The number in the hello says what is wanted: {@link #ECHO} has every message
 * answered by this host's clock, {@link #SINK} swallows bytes up to the end and says how many there were.
 */
public final class Listener implements AutoCloseable {

    static final int ECHO = 1;
    static final int SINK = 2;

    static final int BLOCK = 1 << 18;
    private static final int PATIENCE_MILLIS = 5_000;

    private final ExaminationSecret secret;
    private final PortRange range;
    private final List<HandshakeListener> listeners = new ArrayList<>();
    private final List<ListeningPort> ports = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "hvd-doctor-listener");
        thread.setDaemon(true);
        return thread;
    });

    /** @param settings variables of the job, one of which may name the ports */
    public Listener(ExaminationSecret secret, Map<String, String> settings) {
        this.secret = secret;
        this.range =
                PortRange.parse(settings.getOrDefault(PortRange.VARIABLE, "")).orElse(PortRange.ANY);
    }

    /** From now on others may come to this address. */
    public void open(String network, String address) throws IOException {
        ServerSocketChannel socket = HandshakeListener.bind(InetAddress.getByName(address), range);
        HandshakeListener listener = new HandshakeListener(List.of(socket));
        listeners.add(listener);
        ports.add(new ListeningPort(network, address, socket.socket().getLocalPort()));
        threads.execute(() -> accept(listener));
    }

    public List<ListeningPort> ports() {
        return List.copyOf(ports);
    }

    private void accept(HandshakeListener listener) {
        try {
            for (var accepted = listener.next(secret.bytes(), Long.MAX_VALUE);
                    accepted.isPresent();
                    accepted = listener.next(secret.bytes(), Long.MAX_VALUE)) {
                enqueue(accepted.get());
            }
        } catch (IOException e) {
            return; // closed, or this host can take no more: the others will say that they got no answer
        }
    }

    private void enqueue(HandshakeListener.Accepted accepted) throws IOException {
        try {
            threads.execute(() -> serve(accepted));
        } catch (RejectedExecutionException e) {
            accepted.connection().close(); // this was closed meanwhile
        }
    }

    private static void serve(HandshakeListener.Accepted accepted) {
        try (FramedConnection connection = accepted.connection()) {
            connection.limitReads(PATIENCE_MILLIS);
            if (accepted.number() == ECHO) {
                echo(connection);
            } else if (accepted.number() == SINK) {
                swallow(connection);
            }
        } catch (IOException | MalformedMessageException e) {
            // A host that has gone; who was to measure says what it has seen.
        }
    }

    private static void echo(FramedConnection connection) throws IOException {
        try {
            while (true) {
                receive(connection);
                send(connection, clockMicros());
            }
        } catch (EOFException e) {
            // The other host has seen enough.
        }
    }

    /** Sends a message that holds one number. */
    static void send(FramedConnection connection, long number) throws IOException {
        connection.send(MessageWriter.encodeToBuffer(out -> out.writeLong(number)));
    }

    /** @throws MalformedMessageException if the message is something else than a number */
    static long receive(FramedConnection connection) throws IOException {
        return MessageReader.decode("a message of hvd-doctor", connection.receive(Long.BYTES), MessageReader::readLong);
    }

    private static void swallow(FramedConnection connection) throws IOException {
        InputStream in = connection.wire().socket().socket().getInputStream();
        byte[] block = new byte[BLOCK];
        long bytes = 0;
        for (int read = in.read(block); read >= 0; read = in.read(block)) {
            bytes += read;
        }
        send(connection, bytes);
    }

    /** The wall clock in microseconds. */
    static long clockMicros() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }

    @Override
    public void close() {
        for (HandshakeListener listener : listeners) {
            try {
                listener.close();
            } catch (IOException e) {
                // It is being given up anyway.
            }
        }
        threads.shutdownNow();
    }
}
