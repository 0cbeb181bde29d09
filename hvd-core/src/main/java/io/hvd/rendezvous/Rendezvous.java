package io.hvd.rendezvous;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.log.HvdLogger;
import io.hvd.net.Calls;
import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.net.MalformedMessageException;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A rank's connection to the server at which the ranks of its job meet. One thread uses it; any thread may close it. */
public final class Rendezvous implements Closeable {
    private static final HvdLogger LOG = HvdLogger.of(Rendezvous.class);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** The time without the server after which the log says what the rank waits for. */
    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(3);
    /** The server gives up at the limit, and its answer takes a moment. */
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(3);

    private static final int MOST_BYTES = Integer.MAX_VALUE - 64;

    private final Place place;
    private final int rank;
    private final Duration limit;
    private final FramedConnection connection;

    private Rendezvous(Place place, int rank, Duration limit, FramedConnection connection) {
        this.place = place;
        this.rank = rank;
        this.limit = limit;
        this.connection = connection;
    }

    /** Where the server is, and what it asks for. */
    public interface Place {
        /**
         * The server's addresses as they are now, or those that it may have; asked for before each attempt.
         *
         * @throws IOException that says why they are not known yet
         */
        List<InetSocketAddress> addresses() throws IOException;

        /** The secret that is valid there; asked for after the addresses. */
        byte[] secret();

        /** Of the connections there. */
        Encryption encryption();

        /** The rank that runs the server; empty if the launcher does. */
        OptionalInt server();

        /** Where it comes from, such as {@code HVD_RENDEZVOUS=a:29400}. */
        String source();
    }

    /**
     * Who comes.
     *
     * @param number its number among the ranks of the launcher's job
     * @param size how many there are
     * @param host the name of its host, for messages
     */
    public record Rank(int number, int size, String host) {}

    /**
     * Dials the server until it answers, and waits until all ranks have come.
     *
     * @param members the ranks that take part, in their new order
     * @param limit the time within which all must have come
     * @throws HvdException that says where nobody answers, or which ranks have not come
     */
    public static Rendezvous join(Place place, Rank rank, List<Integer> members, Duration limit) {
        long begun = System.nanoTime();
        boolean told = false;
        String seen = "it does not answer";
        String lost = "";
        while (true) {
            try {
                Rendezvous joined =
                        new Rendezvous(place, rank.number(), limit, dialled(place, rank.number(), left(begun, limit)));
                joined.arrive(new Arrival(rank.host(), rank.size(), members), left(begun, limit));
                return joined;
            } catch (IOException e) {
                if (Thread.currentThread().isInterrupted()) {
                    throw new ShutdownException("rank " + rank.number() + " (" + rank.host()
                            + ") was interrupted while it waited for " + place.source() + " and the other ranks");
                }
                lost = e instanceof LostException
                        ? "it had welcomed this rank, and then " + e.getMessage() + "; now "
                        : lost;
                // What it said before the time was over says more than that it is over.
                seen = e instanceof SocketTimeoutException
                        ? seen
                        : lost + (e instanceof LostException ? "it is tried again" : words(e));
                String why = "rank " + rank.number() + " (" + rank.host() + ") does not reach " + place.source() + ": "
                        + seen;
                long waited = System.nanoTime() - begun;
                if (waited >= limit.toNanos()) {
                    throw new HvdException(
                            ErrorId.INIT_FAILED,
                            why + ". It has tried for " + limit.toSeconds() + " s (HOROVOD_START_TIMEOUT). Either that"
                                    + " process has not started, or the ranks have met without this one, or its host or port is another"
                                    + " one, or a firewall is between" + outside(place, members),
                            e);
                }
                if (!told && waited >= QUIET_NANOS) {
                    told = true;
                    LOG.warn("{}; it tries for {} s, as HOROVOD_START_TIMEOUT says", why, limit.toSeconds());
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /** It has ended or stopped before all ranks had come. */
    private static final class LostException extends IOException {
        private static final long serialVersionUID = 1L;

        LostException(IOException cause) {
            super(cause instanceof SocketTimeoutException ? "said nothing more" : "ended", cause);
        }
    }

    /** A rank that runs the server and takes no part need not have thought of that. */
    private static String outside(Place place, List<Integer> members) {
        return place.server().isEmpty() || members.contains(place.server().getAsInt())
                ? ""
                : ". Rank " + place.server().getAsInt() + ", which is not among the ranks " + members
                        + ", lets the others meet: it has to call Hvd.init too, for a job of its own, such as"
                        + " List.of(" + place.server().getAsInt() + "); under horovodrun --gloo it need not";
    }

    private static String words(IOException e) {
        return e instanceof UnknownHostException ? "its name has no address yet" : String.valueOf(e.getMessage());
    }

    private static long left(long begun, Duration limit) {
        return Math.max(1, limit.toNanos() - (System.nanoTime() - begun));
    }

    /** All addresses are called at once, so that one which swallows packets costs no time. */
    private static FramedConnection dialled(Place place, int rank, long nanos) throws IOException {
        List<InetSocketAddress> addresses = place.addresses();
        return Calls.greet(addresses, place.encryption(), place.secret(), rank, nanos);
    }

    private static int millis(long nanos) {
        return (int) Math.min(Integer.MAX_VALUE, Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos)));
    }

    /** Returns when all ranks have come. */
    private void arrive(Arrival arrival, long nanos) throws IOException {
        try {
            welcome(arrival);
            connection.limitReads(millis(nanos + GRACE_NANOS));
            awaitAll();
            connection.limitReads(millis(limit.toNanos() + GRACE_NANOS));
        } catch (IOException | RuntimeException e) {
            connection.close();
            throw e;
        }
    }

    private void welcome(Arrival arrival) throws IOException {
        try {
            connection.send(arrival.encode());
            told(Answer.MOST_WELCOME_BYTES);
        } catch (SocketTimeoutException e) {
            throw new IOException(
                    "it knows this job and does not welcome this rank; the process that runs it is stopped", e);
        } catch (IOException | MalformedMessageException e) {
            throw new IOException("it knows this job and does not welcome this rank: " + e.getMessage(), e);
        }
    }

    private void awaitAll() throws IOException {
        try {
            told(MOST_BYTES);
        } catch (IOException e) {
            throw new LostException(e);
        }
    }

    private List<byte[]> told(int mostBytes) throws IOException {
        Answer answer = Answer.decode(connection.receiveBytes(mostBytes));
        if (!answer.complaint().isEmpty()) {
            String why = answer.complaint() + " (" + place.source() + ")";
            throw answer.ofLoss() ? new ShutdownException(why) : new HvdException(ErrorId.INIT_FAILED, why);
        }
        return answer.all();
    }

    /** Gives every rank the bytes of all ranks, in their order; all call it together, within the limit. */
    public List<byte[]> exchange(byte[] mine) {
        try {
            connection.send(mine);
            return told(MOST_BYTES);
        } catch (IOException e) {
            throw new HvdException(
                    ErrorId.BACK_END,
                    "rank " + rank + " has lost the rendezvous at " + place.source() + ": " + lost(e),
                    e);
        }
    }

    private String lost(IOException e) {
        if (e instanceof SocketTimeoutException) {
            return "no answer for " + limit.toSeconds()
                    + " s (HOROVOD_START_TIMEOUT); the process that runs it, or a rank, is stopped";
        }
        return e.getMessage() + "; has the process that runs it ended, which is rank 0 or horovodrun?";
    }

    @Override
    public void close() {
        connection.hangUp();
    }
}
