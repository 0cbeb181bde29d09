package io.hvd.host.local;

import io.hvd.spi.ControlChannel;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** The messages that wait for one rank. Any thread adds them; the rank's communication thread removes them. */
public final class Mailbox {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition news = lock.newCondition();
    private final Queue<Letter> letters = new ArrayDeque<>();
    private boolean woken;

    public void put(int from, ByteBuffer message) {
        add(inbox -> inbox.message(from, message));
    }

    public void lost(int rank, String why) {
        add(inbox -> inbox.lost(rank, why));
    }

    public void wakeUp() {
        lock.lock();
        try {
            woken = true;
            news.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Waits as {@link ControlChannel#receive} promises; the inbox is called outside the lock. */
    public void receive(long nanos, ControlChannel.Inbox inbox) {
        List<Letter> taken;
        lock.lock();
        try {
            long left = nanos;
            while (letters.isEmpty() && !woken && left > 0) {
                left = await(left);
            }
            woken = false;
            taken = new ArrayList<>(letters);
            letters.clear();
        } catch (InterruptedException e) {
            // Only the context ends this thread; an interrupt from other code is ignored.
            return;
        } finally {
            lock.unlock();
        }
        taken.forEach(letter -> letter.deliver(inbox));
    }

    private long await(long nanos) throws InterruptedException {
        if (nanos == Long.MAX_VALUE) {
            news.await();
            return nanos;
        }
        return news.awaitNanos(Math.min(nanos, TimeUnit.DAYS.toNanos(1)));
    }

    private void add(Letter letter) {
        lock.lock();
        try {
            letters.add(letter);
            news.signal();
        } finally {
            lock.unlock();
        }
    }

    private interface Letter {
        void deliver(ControlChannel.Inbox inbox);
    }
}
