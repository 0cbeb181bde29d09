package io.hvd.host.hybrid;

import io.hvd.host.local.Mailbox;
import io.hvd.spi.ControlChannel;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Routes the messages of one control channel: to a mailbox if the receiver is a thread of this JVM, else over the one
 * channel between the processes, with sender and receiver in front. A thread of its own uses that channel.
 */
final class Router {
    /** The time for messages that are still on their way when everything else has been sent. */
    private static final long LAST_TURN_NANOS = 1_000_000;

    private final ControlChannel processes;
    private final List<Mailbox> mailboxes;
    private final Grid grid;
    private final Queue<Letter> outgoing = new ConcurrentLinkedQueue<>();
    private final Thread thread;
    private volatile boolean ending;

    private Router(ControlChannel processes, List<Mailbox> mailboxes, Grid grid, int number) {
        this.processes = processes;
        this.mailboxes = mailboxes;
        this.grid = grid;
        this.thread = new Thread(this::run, "hvd-router-" + grid.process() + "." + number);
        thread.setDaemon(true);
    }

    /**
     * @param processes the channel between them, from now on the router's
     * @param mailboxes the threads' mailboxes, by thread
     * @param number the channel's number
     */
    static Router start(ControlChannel processes, List<Mailbox> mailboxes, Grid grid, int number) {
        Router router = new Router(processes, mailboxes, grid, number);
        router.thread.start();
        return router;
    }

    private record Letter(int process, ByteBuffer message) {}

    /** The channel of one thread of this process. */
    ControlChannel end(int thread) {
        return new End(thread);
    }

    /** Sends what has been enqueued, and gives the channel back. */
    void close() {
        ending = true;
        processes.wakeUp();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        Arrivals arrivals = new Arrivals();
        try {
            while (!isOver()) {
                processes.receive(ending ? LAST_TURN_NANOS : Long.MAX_VALUE, arrivals);
            }
        } catch (RuntimeException e) {
            tellAll(0, "the control plane of process " + grid.process() + " failed: " + e);
        }
    }

    private boolean isOver() {
        // This is read first: all messages from before the request to end are sent below.
        boolean last = ending;
        for (Letter letter = outgoing.poll(); letter != null; letter = outgoing.poll()) {
            processes.send(letter.process(), letter.message());
        }
        return last && processes.isFlushed();
    }

    private void send(int from, int to, ByteBuffer message) {
        if (grid.isHere(to)) {
            mailboxes.get(grid.threadOf(to)).put(from, message);
            return;
        }
        outgoing.add(new Letter(grid.processOf(to), new Addressed(from, to, message).encode()));
        processes.wakeUp();
    }

    private void tellAll(int process, String why) {
        for (int rank : grid.ranksOf(process)) {
            mailboxes.forEach(mailbox -> mailbox.lost(rank, why));
        }
    }

    private final class Arrivals implements ControlChannel.Inbox {
        @Override
        public void message(int fromProcess, ByteBuffer message) {
            Addressed addressed = Addressed.decode(message);
            mailboxes.get(grid.threadOf(addressed.to())).put(addressed.from(), addressed.message());
        }

        @Override
        public void lost(int process, String why) {
            tellAll(process, why);
        }
    }

    private final class End implements ControlChannel {
        private final int thread;

        End(int thread) {
            this.thread = thread;
        }

        @Override
        public void send(int rank, ByteBuffer message) {
            Router.this.send(grid.rank(thread), rank, message);
        }

        /** Always true, because the router's own thread moves messages on. */
        @Override
        public boolean isFlushed() {
            return true;
        }

        @Override
        public void receive(long nanos, Inbox inbox) {
            mailboxes.get(thread).receive(nanos, inbox);
        }

        @Override
        public void wakeUp() {
            mailboxes.get(thread).wakeUp();
        }
    }
}
