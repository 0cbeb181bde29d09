package io.hvd.doctor;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Measures the way from this host to the doors of another: whether it is open, how long, how wide, and the clocks. */
final class Dialler {

    private static final int CONNECT_LIMIT_MILLIS = 2_000;
    private static final int ANSWER_LIMIT_MILLIS = 5_000;
    private static final int FIRST_TRIPS = 20;
    private static final int TRIPS = 200;
    private static final long TRIPS_LIMIT_NANOS = TimeUnit.MILLISECONDS.toNanos(400);
    private static final double NANOS_PER_MICRO = 1e3;

    private final String here;
    private final Secret secret;

    /** @param here what this host is called in the host list */
    Dialler(String here, Secret secret) {
        this.here = here;
        this.secret = secret;
    }

    /** @param millis for sending bytes, over all doors together */
    List<Link> measure(String host, List<Door> doors, int millis) {
        int each = Math.max(1, millis / Math.max(1, doors.size()));
        return doors.stream().map(door -> measure(host, door, each)).toList();
    }

    private Link measure(String host, Door door, int millis) {
        try {
            Trips trips = trips(door);
            return new Link(
                    here,
                    host,
                    door.network(),
                    door.address(),
                    "",
                    trips.medianMicros,
                    rate(door, millis),
                    trips.clockAheadMicros);
        } catch (IOException e) {
            return Link.refused(here, host, door, e.getMessage() == null ? e.toString() : e.getMessage());
        }
    }

    private record Trips(double medianMicros, double clockAheadMicros) {}

    /** The clock is read off the quickest trip, in whose middle the other host has looked at its own. */
    private Trips trips(Door door) throws IOException {
        double[] micros = new double[TRIPS];
        double quickest = Double.MAX_VALUE;
        double ahead = 0;
        int done = 0;
        try (Socket socket = enter(door, Listener.ECHO)) {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            DataOutputStream out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
            long begin = System.nanoTime();
            for (int trip = 0; trip < FIRST_TRIPS + TRIPS && (done == 0 || !past(begin)); trip++) {
                long clock = Listener.clockMicros();
                long start = System.nanoTime();
                out.writeLong(trip);
                out.flush();
                long other = in.readLong();
                double took = (System.nanoTime() - start) / NANOS_PER_MICRO;
                if (took < quickest) {
                    quickest = took;
                    ahead = other - (clock + took / 2);
                }
                if (trip >= FIRST_TRIPS || past(begin)) {
                    micros[done++] = took;
                }
            }
        }
        double[] sorted = Arrays.copyOf(micros, done);
        Arrays.sort(sorted);
        return new Trips(sorted[done / 2], ahead);
    }

    private static boolean past(long begin) {
        return System.nanoTime() - begin > TRIPS_LIMIT_NANOS;
    }

    /** Counts what has arrived, from the first byte sent to the word that the last one is there. */
    private double rate(Door door, int millis) throws IOException {
        try (Socket socket = enter(door, Listener.SINK)) {
            byte[] block = new byte[Listener.BLOCK];
            OutputStream out = socket.getOutputStream();
            long start = System.nanoTime();
            while (System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(millis)) {
                out.write(block);
            }
            socket.shutdownOutput();
            long arrived = new DataInputStream(socket.getInputStream()).readLong();
            return arrived / ((System.nanoTime() - start) / 1e9);
        }
    }

    private Socket enter(Door door, int wanted) throws IOException {
        Socket socket = new Socket();
        try {
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(ANSWER_LIMIT_MILLIS);
            socket.connect(new InetSocketAddress(door.address(), door.port()), CONNECT_LIMIT_MILLIS);
            OutputStream out = socket.getOutputStream();
            out.write(secret.bytes());
            out.write(wanted);
            if (socket.getInputStream().read() != Listener.WELCOME) {
                throw new IOException("somebody else answers at " + door.address() + " port " + door.port());
            }
            return socket;
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }
}
