package io.hvd.elastic;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.log.HvdLogger;
import io.hvd.net.Calls;
import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.net.LauncherAddress;
import io.hvd.net.MalformedMessageException;
import java.io.IOException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** A worker's connection to the coordinator of its elastic job. One thread runs generations; any thread may ask to leave. */
public final class CoordinatorLink implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(CoordinatorLink.class);
    private static final long ALIVE_MILLIS = 250;
    /** Without a sign of life for so long, a worker takes the coordinator for lost. */
    private static final long LOST_MILLIS = 30_000;

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** The last attempt gets so long too. */
    private static final long LEAST_ATTEMPT_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** The time without the coordinator after which the log says what the worker waits for. */
    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(3);

    private final FramedConnection connection;
    /** What the worker is called, for messages. */
    private String name;
    /** The generation that begins next; null while there is none. */
    private CoordinatorMessage.Begin next;
    /** The number of the generation that this worker is in; -1 outside of one. */
    private int current = -1;
    /** Gives up the current generation. */
    private Consumer<String> abandon = why -> {};
    /** Why it was given up before this worker was in it; by its number. */
    private CoordinatorMessage.Abandon early = new CoordinatorMessage.Abandon(-1, "");

    private int interrupted = -1;
    /** Why the worker is let go; null as long as it is not. */
    private String released;

    /** How many signs of life this worker has given since the last one of the coordinator. A process that is stopped gives none. */
    private int unanswered;

    private volatile boolean closed;
    private volatile boolean leaves;

    /**
     * A generation, as one of its ranks sees it.
     *
     * @param number its number
     * @param rank the worker's rank
     * @param root the rank whose state all take
     * @param workers the workers by rank
     * @param hosts their hosts, by rank
     * @param meeting where the ranks meet
     */
    public record Membership(
            int number, int rank, int root, List<Integer> workers, List<String> hosts, String meeting) {
        public Membership {
            workers = List.copyOf(workers);
            hosts = List.copyOf(hosts);
        }
    }

    private CoordinatorLink(String name, FramedConnection connection) {
        this.name = name;
        this.connection = connection;
    }

    /**
     * Connects to the coordinator, as soon as it is there.
     *
     * @param number the worker's number; empty if the coordinator gives it one
     * @param host the name of its host
     * @throws HvdException if it does not answer within the limit
     */
    public static CoordinatorLink join(
            LauncherAddress address, OptionalInt number, String host, Encryption encryption, Duration limit) {
        String name = number.isPresent() ? "worker " + number.getAsInt() + " (" + host + ")" : "a worker on " + host;
        var link = new CoordinatorLink(name, dialled(address, number, name, encryption, limit));
        link.send(new WorkerMessage.Join(host));
        Daemon.start(link::listen, "hvd-elastic-link");
        Daemon.start(link::giveSignsOfLife, "hvd-elastic-alive");
        return link;
    }

    private static FramedConnection dialled(
            LauncherAddress address, OptionalInt number, String name, Encryption encryption, Duration limit) {
        int introduction = number.orElse(CoordinatorServer.UNNUMBERED);
        long begun = System.nanoTime();
        boolean told = false;
        while (true) {
            long left = limit.toNanos() - (System.nanoTime() - begun);
            long nanos = Math.max(LEAST_ATTEMPT_NANOS, left);
            try {
                FramedConnection made =
                        Calls.greet(address.sockets(), encryption, address.secret(), introduction, nanos);
                made.limitReads(0);
                return made;
            } catch (IOException e) {
                String why = name + " does not reach the coordinator of its elastic job at " + places(address) + ": "
                        + (e instanceof UnknownHostException ? "its name has no address yet" : e.getMessage());
                requireTimeLeft(left, limit, why, e);
                if (!told && limit.toNanos() - left >= QUIET_NANOS) {
                    told = true;
                    LOG.warn("{}; it tries for {} s, as HOROVOD_START_TIMEOUT says", why, limit.toSeconds());
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    private static void requireTimeLeft(long nanos, Duration limit, String why, IOException cause) {
        if (Thread.currentThread().isInterrupted()) {
            throw new ShutdownException(why + "; it was interrupted");
        }
        if (nanos <= 0) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    why + ". It has tried for " + limit.toSeconds()
                            + " s (HOROVOD_START_TIMEOUT). Either the coordinator"
                            + " has not started, or it has ended with its job, or its host or port is another one, or a"
                            + " firewall is between",
                    cause);
        }
    }

    private static String places(LauncherAddress address) {
        return address.sockets().stream()
                .map(socket -> socket.getHostString() + ":" + socket.getPort())
                .collect(Collectors.joining(", "));
    }

    /**
     * Waits for the next generation.
     *
     * @return empty if the worker is let go because the job has ended, or because it has asked for it
     * @throws ShutdownException if the job goes on without this worker, or cannot go on
     */
    public synchronized Optional<Membership> await() throws InterruptedException {
        while (next == null && released == null) {
            wait();
        }
        if (released != null) {
            if (released.isEmpty()) {
                return Optional.empty();
            }
            throw new ShutdownException(name + " leaves the elastic job: " + released);
        }
        CoordinatorMessage.Begin begin = next;
        next = null;
        return Optional.of(new Membership(
                begin.number(), begin.rank(), begin.root(), begin.workers(), begin.hosts(), begin.meeting()));
    }

    /** This worker has joined a generation. @param giveUp gives it up, on any thread */
    public void entered(int generation, Consumer<String> giveUp) {
        String why;
        synchronized (this) {
            current = generation;
            abandon = giveUp;
            why = early.generation() == generation ? early.why() : released == null ? "" : released;
        }
        if (!why.isEmpty()) {
            giveUp.accept(why);
        }
    }

    /** Whether the generation is to end after a step. */
    public synchronized boolean isInterrupted(int generation) {
        return interrupted == generation || released != null;
    }

    /** This worker has left a generation and waits for the next one. */
    public void ready(int generation, long step, boolean done, Set<Integer> unreachable) {
        synchronized (this) {
            current = -1;
            abandon = why -> {};
        }
        send(new WorkerMessage.Ready(generation, step, done, unreachable));
    }

    /** Asks to leave at the end of a step; returns at once. */
    public void leave() {
        leaves = true;
    }

    /** Whether this worker has asked to leave. */
    public boolean leaves() {
        return leaves;
    }

    /** Says why this worker is about to end. */
    public void failed(String why) {
        send(new WorkerMessage.Failed(why));
    }

    /** A message that does not arrive is no loss: the coordinator has gone then, which the listener finds. */
    private void send(WorkerMessage message) {
        synchronized (connection) {
            try {
                connection.send(message.encode());
            } catch (IOException e) {
                lost("its connection has ended: " + e.getMessage());
            }
        }
    }

    private void giveSignsOfLife() {
        while (!closed) {
            send(leaves ? new WorkerMessage.Leaving() : new WorkerMessage.Alive());
            try {
                TimeUnit.MILLISECONDS.sleep(ALIVE_MILLIS);
            } catch (InterruptedException e) {
                return;
            }
            if (isUnanswered()) {
                lost("the coordinator has given no sign of life for " + LOST_MILLIS / 1_000
                        + " s; its host or the network is gone");
            }
        }
    }

    private synchronized boolean isUnanswered() {
        unanswered++;
        return unanswered * ALIVE_MILLIS >= LOST_MILLIS;
    }

    private void listen() {
        try {
            while (true) {
                take(CoordinatorMessage.decode(connection.receiveBytes(CoordinatorMessage.MOST_BYTES)));
            }
        } catch (IOException | MalformedMessageException e) {
            lost("the coordinator has gone: " + e.getMessage());
        }
    }

    private void take(CoordinatorMessage message) {
        Consumer<String> giveUp = why -> {};
        String why = "";
        synchronized (this) {
            unanswered = 0;
            if (message instanceof CoordinatorMessage.Begin begin) {
                next = begin;
                name = "worker " + begin.workers().get(begin.rank()) + " ("
                        + begin.hosts().get(begin.rank()) + ")";
            } else if (message instanceof CoordinatorMessage.Interrupt interrupt) {
                interrupted = interrupt.generation();
            } else if (message instanceof CoordinatorMessage.Abandon told) {
                early = told;
                giveUp = told.generation() == current ? abandon : giveUp;
                why = told.why();
            } else if (message instanceof CoordinatorMessage.Release release) {
                released = release.why();
                giveUp = released.isEmpty() ? giveUp : abandon;
                why = released;
            }
            notifyAll();
        }
        giveUp.accept(why);
    }

    /** Leaves the job at once, whatever this worker is doing. */
    public void quit(String why) {
        lost(why);
        connection.hangUp();
    }

    private void lost(String why) {
        Consumer<String> giveUp;
        synchronized (this) {
            if (closed || released != null) {
                return;
            }
            released = why;
            giveUp = abandon;
            notifyAll();
        }
        giveUp.accept(why);
    }

    @Override
    public void close() {
        closed = true;
        connection.hangUp();
    }
}
