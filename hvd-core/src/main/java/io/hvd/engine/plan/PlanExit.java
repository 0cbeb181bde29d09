package io.hvd.engine.plan;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Takes all ranks out of a static plan as soon as one of them asks for it.
 *
 * <p>A rank leaves a plan by a veto in the data plane, where it waits for other ranks. A rank whose program
 * computes would come there only with its next batch. The rank that leaves therefore tells the others, whose
 * communication threads then veto their next batch as well. On each rank a thread of its own carries these messages
 * over a channel of its own, because the communication thread may be inside the data plane at that time.
 *
 * <p>Plans have the same numbers on all ranks, so a message about a plan that has ended is recognised, and one about a
 * plan that has not begun here yet is remembered.
 */
public final class PlanExit {
    /** Null where there is no other rank to tell. */
    private final ControlChannel channel;

    private final int rank;
    private final int size;
    private final Runnable onAsked;
    /** The newest plan that this rank knows some rank to leave; plans count from 1. */
    private final AtomicInteger asked = new AtomicInteger();
    /** The newest plan that the other ranks have been told of; only the channel's thread uses it. */
    private int told;

    private volatile boolean ended;
    private final Thread thread;

    private PlanExit(ControlChannel channel, int rank, int size, Runnable onAsked) {
        this.channel = channel;
        this.rank = rank;
        this.size = size;
        this.onAsked = onAsked;
        this.thread = new Thread(this::run, "hvd-plan-exit-" + rank);
        thread.setDaemon(true);
    }

    /**
     * Opens the channel; all ranks call this together, on the communication thread.
     *
     * @param plans whether there may be static plans at all
     * @param onAsked called on any thread when a plan is to be left
     */
    public static PlanExit open(Backend backend, boolean plans, Runnable onAsked) {
        int size = backend.topology().size();
        if (!plans || size == 1) {
            return ofOneRank(onAsked);
        }
        PlanExit exit = new PlanExit(backend.openChannel(), backend.topology().rank(), size, onAsked);
        exit.thread.start();
        return exit;
    }

    /** Makes the exit of a job that has one rank. */
    public static PlanExit ofOneRank(Runnable onAsked) {
        return new PlanExit(null, 0, 1, onAsked);
    }

    /**
     * This rank leaves a plan, and every other rank is to leave it too. Any thread may call this; it returns at once.
     */
    void ask(int plan) {
        if (note(plan) && channel != null) {
            channel.wakeUp();
        }
    }

    /** Whether this plan is to be left. Any thread may call this. */
    boolean isAsked(int plan) {
        return asked.get() >= plan;
    }

    /** Stops the thread; returns when nothing more is sent or received. */
    public void close() {
        if (channel == null) {
            return;
        }
        ended = true;
        channel.wakeUp();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** @return whether this rank did not know it yet */
    private boolean note(int plan) {
        boolean news = asked.getAndAccumulate(plan, Math::max) < plan;
        if (news) {
            onAsked.run();
        }
        return news;
    }

    private void run() {
        Others others = new Others();
        while (!ended) {
            if (asked.get() > told) {
                told = asked.get();
                tell(told);
            }
            channel.receive(Long.MAX_VALUE, others);
        }
    }

    private void tell(int plan) {
        if (rank != 0) {
            send(0, plan);
            return;
        }
        for (int other = 1; other < size; other++) {
            send(other, plan);
        }
    }

    private void send(int to, int plan) {
        channel.send(to, MessageWriter.encodeToBuffer(out -> out.writeInt(plan)));
    }

    private final class Others implements ControlChannel.Inbox {
        @Override
        public void message(int fromRank, ByteBuffer message) {
            int plan = MessageReader.decode("the number of a plan", message, MessageReader::readInt);
            if (rank != 0) {
                // Rank 0 tells all ranks.
                told = Math.max(told, plan);
            }
            note(plan);
        }

        /** The engine hears of a lost rank over its own channel. */
        @Override
        public void lost(int lostRank, String why) {}
    }
}
