package io.hvd.rendezvous;

import io.hvd.log.HvdLogger;
import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.HandshakeListener.Accepted;
import io.hvd.net.MalformedMessageException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The server at which ranks meet. Ranks that name the same members are one job; when all of them have come, each gets the
 * bytes of all as often as all of them send some. It serves any number of jobs, one after the other or at once. A job whose
 * ranks do not all come within the limit is told which are missing. A rank whose process ends before may come again.
 */
public final class RendezvousServer implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(RendezvousServer.class);
    private static final int ARRIVAL_MILLIS = 5_000;
    /** The time after which the log says for whom the others wait. */
    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(3);

    private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final HandshakeListener listener;
    private final Job job;
    /** Who came with another size, as a clause; empty while nobody has. */
    private String strangers = "";

    private final Map<List<Integer>, Gathering> gatherings = new HashMap<>();
    private volatile boolean closed;

    /**
     * The launcher's job whose ranks meet.
     *
     * @param size how many there are
     * @param secret recognises them
     * @param encryption of the connections
     * @param limit the time within which the members of a job must have come, from the first one on
     * @param hosts on which they are to be, in their order; empty if that is not known
     */
    public record Job(int size, byte[] secret, Encryption encryption, Duration limit, List<String> hosts) {
        public Job(int size, byte[] secret, Encryption encryption, Duration limit) {
            this(size, secret, encryption, limit, List.of());
        }
    }

    /**
     * Starts a server on a daemon thread.
     *
     * @param sockets the listening sockets, which are closed with the server
     */
    public static RendezvousServer start(List<ServerSocketChannel> sockets, Job job) throws IOException {
        RendezvousServer server = new RendezvousServer(new HandshakeListener(sockets, job.encryption), job);
        daemon(server::run, "hvd-rendezvous").start();
        return server;
    }

    private RendezvousServer(HandshakeListener listener, Job job) {
        this.listener = listener;
        this.job = job;
    }

    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    private void run() {
        try {
            while (!closed) {
                listener.next(job.secret, LONGEST_PAUSE_NANOS)
                        .ifPresent(one -> daemon(() -> admit(one), "hvd-rendezvous-arrival")
                                .start());
                endTheOverdue();
            }
        } catch (IOException e) {
            if (!closed) {
                LOG.warn("the rendezvous accepts no more ranks: {}", e.toString());
            }
        }
    }

    /** On a thread of its own, so that one that says nothing keeps nobody waiting. */
    private void admit(Accepted one) {
        FramedConnection connection = one.connection();
        try {
            connection.limitReads(ARRIVAL_MILLIS);
            Arrival arrival = Arrival.decode(connection.receiveBytes(Arrival.MOST_BYTES));
            connection.limitReads(0);
            admit(one, arrival);
        } catch (IOException | MalformedMessageException e) {
            connection.hangUp();
        }
    }

    private synchronized void admit(Accepted one, Arrival arrival) throws IOException {
        FramedConnection connection = one.connection();
        if (closed) {
            connection.hangUp();
            return;
        }
        if (!arrival.members().contains(one.number())) {
            complain(
                    connection,
                    "rank " + one.number() + " is not among the ranks " + arrival.members() + " that it wants to join");
            return;
        }
        if (arrival.size() != job.size) {
            refuseSize(one, arrival);
            return;
        }
        Gathering gathering = gatherings.computeIfAbsent(arrival.members(), members -> new Gathering(members, job));
        connection.send(Answer.WELCOME.encode());
        gathering.add(one.number(), arrival.host(), connection);
        if (gathering.isComplete()) {
            gatherings.remove(arrival.members());
            daemon(gathering::relay, "hvd-rendezvous-relay").start();
        }
    }

    private void refuseSize(Accepted one, Arrival arrival) {
        String who = "rank " + one.number() + " from " + arrival.host() + " says that there are " + arrival.size()
                + " ranks";
        strangers = "; " + who + ", and was refused";
        complain(
                one.connection(),
                who + ", but the job that meets here has " + job.size
                        + ": tell all ranks the same size, and give two jobs two ports or an HVD_SECRET each");
    }

    private synchronized void endTheOverdue() {
        gatherings.values().removeIf(gathering -> {
            boolean over = gathering.isOver();
            if (over) {
                gathering.endIncomplete(strangers + listener.refused());
            }
            return over;
        });
    }

    private static void complain(FramedConnection connection, String why) {
        dismiss(connection, Answer.complaint(why));
    }

    private static void dismiss(FramedConnection connection, Answer answer) {
        try {
            connection.send(answer.encode());
        } catch (IOException e) {
            // That rank is gone, and needs to know nothing.
        }
        connection.hangUp();
    }

    /** Accepts no more ranks, and hangs up on those that still wait, which may call the next one; jobs that are complete go on. */
    @Override
    public void close() {
        closed = true;
        try {
            listener.close();
        } catch (IOException e) {
            // It is being given up anyway.
        }
        endTheWaiting();
    }

    private synchronized void endTheWaiting() {
        gatherings.values().forEach(Gathering::hangUp);
        gatherings.clear();
    }

    /** The ranks of one job, first as they come and then as they exchange bytes. */
    private static final class Gathering {
        private static final int MOST_BYTES = 1 << 28;

        private final List<Integer> members;
        private final Duration limit;
        /** The hosts of the launcher's ranks, as far as they are known. */
        private final List<String> planned;

        private final long begun = System.nanoTime();
        private boolean told;
        /** Why nobody can meet here before the time is over; empty unless two processes are one rank. */
        private String obstacle = "";

        private final Map<Integer, FramedConnection> connections = new HashMap<>();
        private final Map<Integer, String> hosts = new HashMap<>();

        Gathering(List<Integer> members, Job job) {
            this.members = members;
            this.limit = job.limit;
            this.planned = job.hosts;
        }

        /**
         * Adds a rank that has come, perhaps again after its process has lost its connection or was restarted. If two processes
         * are that rank, nobody knows the right one, and all who come are told so.
         */
        void add(int rank, String host, FramedConnection connection) {
            forgetTheGone();
            FramedConnection before = connections.put(rank, connection);
            String hostBefore = hosts.put(rank, host);
            if (before != null) {
                obstacle = "rank " + rank + " has come from " + hostBefore + ", and then again from " + host
                        + ": two processes have the same rank, or two jobs the same rendezvous and secret. Give each job a"
                        + " port or an HVD_SECRET of its own";
                complain(before, obstacle);
            }
            if (!obstacle.isEmpty()) {
                end(obstacle);
                connections.clear();
            }
        }

        private void forgetTheGone() {
            connections.entrySet().removeIf(one -> {
                boolean gone = one.getValue().hasEnded();
                if (gone) {
                    one.getValue().hangUp();
                }
                return gone;
            });
        }

        boolean isComplete() {
            return connections.size() == members.size();
        }

        /** Whether its time is over; before that, a line says once who is missing. */
        boolean isOver() {
            forgetTheGone();
            long waited = System.nanoTime() - begun;
            if (!told && obstacle.isEmpty() && waited >= QUIET_NANOS) {
                told = true;
                LOG.warn(
                        "ranks {} of {} have not come to the rendezvous yet; the others wait for {} s, as"
                                + " HOROVOD_START_TIMEOUT says",
                        missing(),
                        members.size(),
                        limit.toSeconds());
            }
            return waited >= limit.toNanos();
        }

        private List<String> missing() {
            return members.stream()
                    .filter(rank -> !connections.containsKey(rank))
                    .map(rank -> rank < planned.size() ? rank + " on " + planned.get(rank) : rank.toString())
                    .toList();
        }

        void endIncomplete(String refused) {
            end("ranks " + missing() + " of " + members.size() + " have not come to the rendezvous within "
                    + limit.toSeconds() + " s (HOROVOD_START_TIMEOUT); these have come: " + came(true) + left()
                    + refused);
        }

        private String left() {
            List<String> left = came(false);
            return left.isEmpty() ? "" : "; these had come, and have ended: " + left;
        }

        private List<String> came(boolean andStayed) {
            return members.stream()
                    .filter(rank -> hosts.containsKey(rank) && connections.containsKey(rank) == andStayed)
                    .map(rank -> rank + " from " + hosts.get(rank))
                    .toList();
        }

        void hangUp() {
            connections.values().forEach(FramedConnection::hangUp);
        }

        private void end(String why) {
            end(Answer.complaint(why));
        }

        private void end(Answer answer) {
            connections.values().forEach(connection -> dismiss(connection, answer));
        }

        /**
         * Tells the ranks that all have come, and hands on what they say, until one of them leaves, or is silent while the
         * others wait for it. They speak at once at first; later it may be long until the first one does.
         */
        void relay() {
            int speaker = members.get(0);
            List<byte[]> all = new ArrayList<>();
            try {
                for (boolean begun = false; ; begun = true) {
                    byte[] answer = Answer.of(all).encode();
                    for (int rank : members) {
                        speaker = rank;
                        connections.get(rank).send(answer);
                    }
                    all.clear();
                    for (int rank : members) {
                        speaker = rank;
                        boolean atLeisure = begun && rank == members.get(0);
                        connections.get(rank).limitReads(atLeisure ? 0 : Math.toIntExact(limit.toMillis()));
                        all.add(connections.get(rank).receiveBytes(MOST_BYTES));
                    }
                }
            } catch (SocketTimeoutException e) {
                end(named(speaker) + " has come to the rendezvous and then said nothing for " + limit.toSeconds()
                        + " s (HOROVOD_START_TIMEOUT): its process is stopped, or its host is gone");
            } catch (IOException e) {
                end(Answer.loss(named(speaker) + " has left the rendezvous: " + e.getMessage()));
            }
        }

        private String named(int rank) {
            return "rank " + rank + " (" + hosts.get(rank) + ")";
        }
    }
}
