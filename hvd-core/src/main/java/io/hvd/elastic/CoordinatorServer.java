package io.hvd.elastic;

import io.hvd.elastic.ElasticOrder.Abandon;
import io.hvd.elastic.ElasticOrder.Finish;
import io.hvd.elastic.ElasticOrder.Form;
import io.hvd.elastic.ElasticOrder.Interrupt;
import io.hvd.elastic.ElasticOrder.Release;
import io.hvd.elastic.ElasticOrder.Say;
import io.hvd.log.HvdLogger;
import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.HandshakeListener.Accepted;
import io.hvd.net.MalformedMessageException;
import io.hvd.rendezvous.Meeting;
import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;

/**
 * Runs the {@link Coordinator} of an elastic job: its sockets, its clock, and the orders that it gives. Any thread may use it.
 *
 * <p>Its workers are those that a launcher starts and announces ({@link #started}), or they come by themselves, and each gets
 * a number when it does.
 */
public final class CoordinatorServer implements AutoCloseable {
    /** How often the coordinator looks at the time. */
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    /** How often it tells the workers that it lives. */
    private static final long ALIVE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final int FIRST_MESSAGE_MILLIS = 10_000;
    /** What a process has sent before its end is here within this time, unless its host is cut off. */
    private static final long LAST_WORDS_MILLIS = 500;

    private static final String CONNECTION_ENDED = "its connection has ended";
    /** The number by which a worker introduces itself that comes by itself. */
    static final int UNNUMBERED = -1;

    private static final HvdLogger LOG = HvdLogger.of(CoordinatorServer.class);

    private final Coordinator coordinator;
    private final HandshakeListener listener;
    private final byte[] secret;
    private final Meetings meetings;
    private final Events events;
    private final long begun = System.nanoTime();
    private final Map<Integer, Connected> workers = new HashMap<>();
    /** How processes of workers have ended. */
    private final Map<Integer, String> exits = new HashMap<>();
    /** Where the ranks of the current generation have met; null before the first one. */
    private Meeting meeting;

    private long lastAlive = begun;
    /** Of the next worker that comes by itself. */
    private int nextNumber;
    /** Why the job has ended; empty before, and if it has ended well. */
    private String failure = "";

    private volatile boolean closed;

    private record Connected(FramedConnection connection, String host) {
        String name(int worker) {
            return "worker " + worker + " on " + host;
        }
    }

    /** Opens rendezvous. */
    public interface Meetings {
        /** Opens one for as many ranks as there are hosts. @param hosts of the ranks, in their order */
        Meeting open(List<String> hosts) throws IOException;
    }

    /** Hears what the coordinator has decided; called with its lock held, so it returns at once. */
    public interface Events {
        /** A sentence for the user. */
        void say(String sentence);

        /** A generation begins. @param workers by rank */
        void begun(int generation, List<Integer> workers);

        /** The job goes on without a worker that has to end. */
        void refused(int worker, String why);

        /** The job has ended. @param failure empty if it has ended well */
        void finished(String failure);

        /** A worker says that its program has failed behind the end of the training. @param worker its number and host */
        default void failedBehindTheEnd(String worker, String why) {
            // Whoever has started it has its exit code.
        }
    }

    private CoordinatorServer(
            ElasticLimits limits, HandshakeListener listener, byte[] secret, Meetings meetings, Events events) {
        this.coordinator = new Coordinator(limits, 0);
        this.listener = listener;
        this.secret = secret.clone();
        this.meetings = meetings;
        this.events = events;
    }

    /**
     * Starts it on daemon threads.
     *
     * @param sockets the listening sockets, which are closed with the server
     * @param secret recognises the job's workers
     */
    public static CoordinatorServer start(
            List<ServerSocketChannel> sockets,
            byte[] secret,
            Encryption encryption,
            ElasticLimits limits,
            Meetings meetings,
            Events events)
            throws IOException {
        var server =
                new CoordinatorServer(limits, new HandshakeListener(sockets, encryption), secret, meetings, events);
        Daemon.start(server::run, "hvd-elastic-coordinator");
        return server;
    }

    /** The launcher starts a worker. */
    public void started(int worker, String host) {
        handle(new ElasticEvent.Started(worker, host));
    }

    /**
     * A worker's process has ended. What it has said last, which may still be on its way, says more than its exit code.
     */
    public void ended(int worker, String why) {
        awaitLastWords(worker, why);
        handle(new ElasticEvent.Ended(worker, why));
    }

    private synchronized void awaitLastWords(int worker, String why) {
        exits.put(worker, why);
        long begin = System.nanoTime();
        try {
            for (long left = LAST_WORDS_MILLIS;
                    workers.containsKey(worker) && left > 0;
                    left = LAST_WORDS_MILLIS - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin)) {
                wait(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try {
            while (!closed) {
                listener.next(secret, TICK_NANOS)
                        .ifPresent(one -> Daemon.start(() -> hear(one), "hvd-elastic-worker-" + one.number()));
                handle(new ElasticEvent.Tick());
                tellAlive();
            }
        } catch (IOException e) {
            if (!closed) {
                LOG.warn("the coordinator of the elastic job accepts no more workers: {}", e.toString());
            }
        }
    }

    private void hear(Accepted one) {
        FramedConnection connection = one.connection();
        OptionalInt worker = admit(one);
        if (worker.isPresent()) {
            String why = hearOut(worker.getAsInt(), connection);
            gone(worker.getAsInt(), connection, why);
        }
        connection.hangUp();
    }

    /** @return the number of the worker; empty if it is none, or cannot be admitted */
    private OptionalInt admit(Accepted one) {
        FramedConnection connection = one.connection();
        try {
            connection.limitReads(FIRST_MESSAGE_MILLIS);
            WorkerMessage first = WorkerMessage.decode(connection.receiveBytes(WorkerMessage.MOST_BYTES));
            connection.limitReads(0);
            return first instanceof WorkerMessage.Join join
                    ? admit(one.number(), new Connected(connection, join.host()))
                    : OptionalInt.empty();
        } catch (IOException | MalformedMessageException e) {
            return OptionalInt.empty();
        }
    }

    /** Takes what a worker says, as long as it says something. @return why it does not any more */
    private String hearOut(int worker, FramedConnection connection) {
        String why = CONNECTION_ENDED;
        try {
            while (true) {
                WorkerMessage message = WorkerMessage.decode(connection.receiveBytes(WorkerMessage.MOST_BYTES));
                if (message instanceof WorkerMessage.Failed failed) {
                    why = failed.why();
                    failed(worker, why);
                } else {
                    handle(event(worker, message));
                }
            }
        } catch (MalformedMessageException e) {
            return e.getMessage();
        } catch (IOException e) {
            return why;
        }
    }

    private synchronized void failed(int worker, String why) {
        if (coordinator.isOver() && failure.isEmpty() && workers.containsKey(worker)) {
            events.failedBehindTheEnd(workers.get(worker).name(worker), why);
        }
    }

    private static ElasticEvent event(int worker, WorkerMessage message) {
        if (message instanceof WorkerMessage.Ready ready) {
            return new ElasticEvent.Ready(worker, ready.generation(), ready.step(), ready.done(), ready.unreachable());
        }
        return message instanceof WorkerMessage.Leaving
                ? new ElasticEvent.Leaving(worker)
                : new ElasticEvent.Heard(worker);
    }

    /** Empty if a worker of that number is connected already, or the server is closed. */
    private synchronized OptionalInt admit(int number, Connected connected) {
        int worker = number == UNNUMBERED ? nextNumber++ : number;
        if (closed || workers.containsKey(worker)) {
            return OptionalInt.empty();
        }
        workers.put(worker, connected);
        if (coordinator.isOver()) {
            send(worker, new CoordinatorMessage.Release(failure).encode());
        } else if (number == UNNUMBERED) {
            events.say(connected.name(worker) + " has come");
        }
        handle(new ElasticEvent.Joined(worker, connected.host()));
        return OptionalInt.of(worker);
    }

    private synchronized void gone(int worker, FramedConnection connection, String why) {
        Connected known = workers.get(worker);
        if (known != null && known.connection() == connection) {
            workers.remove(worker);
            String more = why.equals(CONNECTION_ENDED) ? exits.getOrDefault(worker, why) : why;
            handle(new ElasticEvent.Ended(worker, more));
            notifyAll();
        }
    }

    /** Waits until no worker is connected any more, such as when all have been told the end. @param millis the longest wait */
    public synchronized void awaitNobody(long millis) throws InterruptedException {
        long begin = System.nanoTime();
        for (long left = millis;
                !workers.isEmpty() && left > 0;
                left = millis - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin)) {
            wait(left);
        }
    }

    private synchronized void handle(ElasticEvent event) {
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
        for (ElasticOrder order : coordinator.on(event, millis)) {
            carryOut(order);
        }
    }

    private void carryOut(ElasticOrder order) {
        if (order instanceof Form form) {
            begin(form);
        } else if (order instanceof Interrupt interrupt) {
            byte[] message = new CoordinatorMessage.Interrupt(interrupt.generation()).encode();
            interrupt.members().forEach(worker -> send(worker, message));
        } else if (order instanceof Abandon abandon) {
            byte[] message = new CoordinatorMessage.Abandon(abandon.generation(), abandon.why()).encode();
            abandon.members().forEach(worker -> send(worker, message));
        } else if (order instanceof Release release) {
            if (!release.wanted()) {
                events.refused(release.worker(), release.why());
            } else if (!coordinator.isOver() && workers.containsKey(release.worker())) {
                events.say(workers.get(release.worker()).name(release.worker()) + " leaves, as it has asked for");
            }
            send(release.worker(), new CoordinatorMessage.Release(release.why()).encode());
        } else if (order instanceof Finish finish) {
            tellEnd(finish.failure());
            events.finished(finish.failure());
        } else if (order instanceof Say say) {
            events.say(say.sentence());
        }
    }

    private void begin(Form form) {
        List<Integer> members = form.members();
        List<String> hosts = members.stream()
                .map(worker -> workers.containsKey(worker) ? workers.get(worker).host() : "")
                .toList();
        if (meeting != null) {
            meeting.close();
        }
        try {
            meeting = meetings.open(hosts);
        } catch (IOException e) {
            tellEnd("the launcher cannot let the ranks of generation " + form.number() + " meet: " + e.getMessage());
            events.finished(
                    "the launcher cannot let the ranks of generation " + form.number() + " meet: " + e.getMessage());
            return;
        }
        events.begun(form.number(), members);
        for (int rank = 0; rank < members.size(); rank++) {
            send(
                    members.get(rank),
                    new CoordinatorMessage.Begin(form.number(), rank, form.root(), members, hosts, meeting.address())
                            .encode());
        }
    }

    private void tellEnd(String why) {
        failure = why;
        if (!why.isEmpty()) {
            byte[] message = new CoordinatorMessage.Release(why).encode();
            List.copyOf(workers.keySet()).forEach(worker -> send(worker, message));
        }
    }

    private synchronized void tellAlive() {
        if (System.nanoTime() - lastAlive >= ALIVE_NANOS) {
            lastAlive = System.nanoTime();
            byte[] message = new CoordinatorMessage.Alive().encode();
            List.copyOf(workers.keySet()).forEach(worker -> send(worker, message));
        }
    }

    /** Whoever cannot be told has ended, or will be found silent; its own thread says so. */
    private void send(int worker, byte[] message) {
        Connected to = workers.get(worker);
        if (to != null) {
            try {
                to.connection().send(message);
            } catch (IOException e) {
                LOG.debug("worker {} is not told: {}", worker, e.toString());
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        try {
            listener.close();
        } catch (IOException e) {
            // It is being given up anyway.
        }
        endAll();
    }

    private synchronized void endAll() {
        workers.values().forEach(one -> one.connection().hangUp());
        workers.clear();
        if (meeting != null) {
            meeting.close();
        }
    }
}
