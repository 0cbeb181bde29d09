package io.hvd.doctor.network;

import io.hvd.net.FramedConnection;
import io.hvd.net.MalformedMessageException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Measures the way from this host to the ports of another: whether it is open, how long, how wide, and the clocks. */
public final class Dialler {

    private static final int CONNECT_LIMIT_MILLIS = 2_000;
    private static final int ANSWER_LIMIT_MILLIS = 5_000;
    private static final int FIRST_TRIPS = 20;
    private static final int TRIPS = 200;
    private static final long TRIPS_LIMIT_NANOS = TimeUnit.MILLISECONDS.toNanos(400);
    private static final double NANOS_PER_MICRO = 1e3;

    private final String here;
    private final ExaminationSecret secret;

    /** @param here what this host is called in the host list */
    public Dialler(String here, ExaminationSecret secret) {
        this.here = here;
        this.secret = secret;
    }

    /** @param millis the time for sending bytes, over all ports together */
    public List<MeasuredLink> measure(String host, List<ListeningPort> ports, int millis) {
        int each = Math.max(1, millis / Math.max(1, ports.size()));
        return ports.stream().map(port -> measure(host, port, each)).toList();
    }

    private MeasuredLink measure(String host, ListeningPort port, int millis) {
        try {
            Trips trips = trips(port);
            return new MeasuredLink(
                    here,
                    host,
                    port.network(),
                    port.address(),
                    "",
                    trips.medianMicros,
                    rate(port, millis),
                    trips.clockAheadMicros);
        } catch (IOException | MalformedMessageException e) {
            return MeasuredLink.refused(here, host, port, e.getMessage() == null ? e.toString() : e.getMessage());
        }
    }

    private record Trips(double medianMicros, double clockAheadMicros) {}

    /** The clock is read off the quickest trip, in whose middle the other host has looked at its own. */
    private Trips trips(ListeningPort port) throws IOException {
        double[] micros = new double[TRIPS];
        double quickest = Double.MAX_VALUE;
        double ahead = 0;
        int done = 0;
        try (FramedConnection connection = connect(port, Listener.ECHO)) {
            long begin = System.nanoTime();
            for (int trip = 0; trip < FIRST_TRIPS + TRIPS && (done == 0 || !past(begin)); trip++) {
                long clock = Listener.clockMicros();
                long start = System.nanoTime();
                Listener.send(connection, trip);
                long other = Listener.receive(connection);
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
    private double rate(ListeningPort port, int millis) throws IOException {
        try (FramedConnection connection = connect(port, Listener.SINK)) {
            byte[] block = new byte[Listener.BLOCK];
            OutputStream out = connection.wire().socket().socket().getOutputStream();
            long start = System.nanoTime();
            while (System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(millis)) {
                out.write(block);
            }
            connection.wire().socket().shutdownOutput();
            long arrived = Listener.receive(connection);
            return arrived / ((System.nanoTime() - start) / 1e9);
        }
    }

    private FramedConnection connect(ListeningPort port, int wanted) throws IOException {
        var address = new InetSocketAddress(port.address(), port.number());
        FramedConnection connection = FramedConnection.dial(address, secret.bytes(), wanted, CONNECT_LIMIT_MILLIS);
        connection.limitReads(ANSWER_LIMIT_MILLIS);
        return connection;
    }
}
