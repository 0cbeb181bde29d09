package io.hvd.doctor;

import io.hvd.net.HandshakeListener;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.channels.ServerSocketChannel;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;

/**
 * Lets the other hosts measure their way to this one, until it is closed: on each address a port that the system
 * chooses, for those who know the secret. After the secret comes a byte that says what is wanted: {@link #ECHO} has
 * every long answered by this host's clock, {@link #SINK} swallows bytes up to the end and says how many there were.
 */
final class Listener implements AutoCloseable {

    static final int ECHO = 1;
    static final int SINK = 2;
    static final int WELCOME = 7;
    static final int BLOCK = 1 << 18;
    private static final int PATIENCE_MILLIS = 5_000;

    private final Secret secret;
    private final List<HandshakeListener> listeners = new ArrayList<>();
    private final List<Door> doors = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "hvd-doctor-listener");
        thread.setDaemon(true);
        return thread;
    });

    Listener(Secret secret) {
        this.secret = secret;
    }

    /** From now on others may come to this address. */
    void open(String network, String address) throws IOException {
        ServerSocketChannel door = HandshakeListener.door(InetAddress.getByName(address));
        HandshakeListener listener = new HandshakeListener(List.of(door), 1);
        listeners.add(listener);
        doors.add(new Door(network, address, door.socket().getLocalPort()));
        threads.execute(() -> letIn(listener));
    }

    List<Door> doors() {
        return List.copyOf(doors);
    }

    private void letIn(HandshakeListener listener) {
        try {
            for (var guest = listener.next(secret.bytes(), Long.MAX_VALUE);
                    guest.isPresent();
                    guest = listener.next(secret.bytes(), Long.MAX_VALUE)) {
                admit(guest.get());
            }
        } catch (IOException e) {
            return; // closed, or this host can take no more: the others will say that they did not get in
        }
    }

    private void admit(HandshakeListener.Guest guest) throws IOException {
        try {
            threads.execute(() -> serve(guest));
        } catch (RejectedExecutionException e) {
            guest.channel().close(); // this was closed meanwhile
        }
    }

    private void serve(HandshakeListener.Guest from) {
        try (Socket guest = from.channel().socket()) {
            guest.setSoTimeout(PATIENCE_MILLIS);
            guest.setTcpNoDelay(true);
            DataInputStream in = new DataInputStream(guest.getInputStream());
            DataOutputStream out = new DataOutputStream(new BufferedOutputStream(guest.getOutputStream()));
            int wanted = from.said().get();
            out.writeByte(WELCOME);
            out.flush();
            if (wanted == ECHO) {
                echo(in, out);
            } else if (wanted == SINK) {
                swallow(in, out);
            }
        } catch (IOException e) {
            // A host that has gone; who was to measure says what it has seen.
        }
    }

    private static void echo(DataInputStream in, DataOutputStream out) throws IOException {
        try {
            while (true) {
                in.readLong();
                out.writeLong(clockMicros());
                out.flush();
            }
        } catch (EOFException e) {
            // The guest has seen enough.
        }
    }

    private static void swallow(InputStream in, DataOutputStream out) throws IOException {
        byte[] block = new byte[BLOCK];
        long bytes = 0;
        for (int read = in.read(block); read >= 0; read = in.read(block)) {
            bytes += read;
        }
        out.writeLong(bytes);
        out.flush();
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
