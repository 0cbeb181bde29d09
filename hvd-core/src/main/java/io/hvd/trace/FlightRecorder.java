package io.hvd.trace;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Remembers the calls that this rank waits for and its last calls, for reports of why a job hangs, and passes events on
 * to a listener and to the recordings of JDK Flight Recorder. Without a listener and a recording that costs one look at
 * a field for each. Any thread may use it. Recording makes no garbage in a step of steady training.
 */
public final class FlightRecorder {
    /** The last calls, each at its number modulo the length; copies, since a call may be used again. */
    private final Call[] recent;

    private final Call pendingEnds = new Call();
    private final JfrEvents jfr = new JfrEvents();
    private final AtomicLong steps = new AtomicLong();
    private volatile TraceListener listener;
    private long calls;

    /**
     * @param keep number of calls to remember. The last one is always kept, because it tells how long a rank has been
     *     idle and on which thread it trains
     */
    public FlightRecorder(int keep) {
        this.recent = new Call[Math.max(1, keep)];
        pendingEnds.next = pendingEnds;
        pendingEnds.previous = pendingEnds;
    }

    /**
     * A rank's place in its job.
     *
     * @param backend in words
     * @param settings the variables that are set, in words
     */
    public record Job(int rank, int size, String host, String backend, String settings) {}

    /** The rank has joined; recordings of JDK Flight Recorder tell it by this from the other ranks of its process. */
    public void joined(Job job) {
        jfr.joined(job);
    }

    /** Sets the listener that is told from here on; null for none. */
    public void listen(TraceListener told) {
        listener = told;
    }

    /** Whether somebody wants to know when the data plane begins a batch: a listener, or a recording of collectives. */
    public boolean isWatched() {
        return listener != null || jfr.hasCollectives();
    }

    /** Whether there is a listener; without one, times that only it needs are not measured. */
    public boolean isHeard() {
        return listener != null;
    }

    /** A user's thread has called a collective. */
    public Call submitted(Call.Operation operation) {
        Call call = new Call();
        String site = CallSite.current();
        long now = System.nanoTime();
        synchronized (this) {
            begin(call, operation, site, now);
        }
        TraceListener heard = listener;
        if (heard != null) {
            heard.submitted(call);
        }
        return call;
    }

    /** A user's thread has called these together; their previous calls, if there were any, have ended. */
    public void submitted(List<? extends Recorded> together) {
        long now = System.nanoTime();
        synchronized (this) {
            for (int i = 0; i < together.size(); i++) {
                Recorded one = together.get(i);
                begin(one.call(), one.operation(), one.site(), now);
            }
        }
        jfr.submitted(together);
        TraceListener heard = listener;
        for (int i = 0; heard != null && i < together.size(); i++) {
            heard.submitted(together.get(i).call());
        }
    }

    private void begin(Call call, Call.Operation operation, String site, long now) {
        if (call.next != null) {
            throw new IllegalStateException("call " + call.number() + " of " + operation + " has not ended");
        }
        call.begin(++calls, operation, site, Thread.currentThread(), now);
        call.previous = pendingEnds.previous;
        call.next = pendingEnds;
        call.previous.next = call;
        pendingEnds.previous = call;
        int place = place(call.number());
        if (recent[place] == null) {
            recent[place] = new Call();
        }
        recent[place].copy(call);
    }

    private int place(long number) {
        return (int) (number % recent.length);
    }

    /** @param negotiated the same as in {@link TraceListener#announced} */
    public void announced(Call call, boolean negotiated) {
        jfr.announced(call, negotiated);
        TraceListener heard = listener;
        if (heard != null) {
            heard.announced(call, negotiated, System.nanoTime());
        }
    }

    /** A rank has asked for an operation; called on rank 0 only. */
    public void ready(int processSet, String kind, String name, int rank) {
        if (jfr.hasCollectives()) {
            arrived(processSet, name, rank);
        }
        TraceListener heard = listener;
        if (heard != null) {
            heard.ready(new TraceListener.Arrival(processSet, kind, name, rank), System.nanoTime());
        }
    }

    private synchronized void arrived(int processSet, String name, int rank) {
        for (Call call = pendingEnds.next; call != pendingEnds; call = call.next) {
            if (call.event != null && call.event.processSet == processSet && call.event.name.equals(name)) {
                call.event.lastRank = rank;
                return;
            }
        }
    }

    /**
     * The data plane begins the call now, because all members have come.
     *
     * @param batch the same as in {@link TraceListener#started}
     */
    public void started(Call call, Call batch) {
        long now = System.nanoTime();
        synchronized (this) {
            call.start(now);
            Call copy = recent[place(call.number())];
            if (copy.number() == call.number()) {
                copy.start(now);
            }
        }
        entered(call, batch);
    }

    /** The data plane begins a step of a static plan and waits there for the ranks that have not come yet. */
    public void entered(Call call, Call batch) {
        jfr.entered(call, batch);
        TraceListener heard = listener;
        if (heard != null) {
            heard.started(call, batch, System.nanoTime());
        }
    }

    /** The data plane has finished a piece of work that began at {@code fromNanos}. */
    public void activity(Call batch, String name, long fromNanos) {
        TraceListener heard = listener;
        if (heard != null) {
            heard.activity(batch, name, fromNanos, System.nanoTime());
        }
    }

    /** A device has done a piece of work on a batch. */
    public void onDevice(Call batch, TraceListener.OnDevice work) {
        TraceListener heard = listener;
        if (heard != null) {
            heard.onDevice(batch, work);
        }
    }

    /** @param error why it failed, or empty */
    public void ended(Call call, String error) {
        long now = System.nanoTime();
        boolean isNews;
        synchronized (this) {
            isNews = end(call, error, now);
        }
        if (isNews) {
            jfr.ended(call);
        }
        TraceListener heard = listener;
        if (heard != null && isNews) {
            heard.ended(call);
        }
    }

    /** These calls have succeeded together. */
    public void ended(List<? extends Recorded> together) {
        long now = System.nanoTime();
        synchronized (this) {
            for (int i = 0; i < together.size(); i++) {
                Call call = together.get(i).call();
                if (call != null) {
                    end(call, "", now);
                }
            }
        }
        TraceListener heard = listener;
        for (int i = 0; i < together.size(); i++) {
            Call call = together.get(i).call();
            if (call != null) {
                jfr.ended(call);
            }
            if (call != null && heard != null) {
                heard.ended(call);
            }
        }
    }

    /** @return false if it had ended before */
    private boolean end(Call call, String error, long now) {
        if (call.next == null) {
            return false;
        }
        call.end(now, error);
        call.previous.next = call.next;
        call.next.previous = call.previous;
        call.previous = null;
        call.next = null;
        Call copy = recent[place(call.number())];
        if (copy.number() == call.number()) {
            copy.end(now, error);
        }
        return true;
    }

    /** A user's thread has waited for a result since {@code fromNanos}. */
    public void waited(int processSet, String name, long fromNanos) {
        TraceListener heard = listener;
        if (heard != null) {
            heard.waited(processSet, name, fromNanos, System.nanoTime());
        }
    }

    /** The engine turns to its queue again. */
    public void cycle() {
        TraceListener heard = listener;
        if (heard != null) {
            heard.cycle(System.nanoTime());
        }
    }

    /** The user's program has finished a training step. */
    public void step() {
        jfr.stepped(steps.incrementAndGet());
        TraceListener heard = listener;
        if (heard != null) {
            heard.step(System.nanoTime());
        }
    }

    /** The number of training steps that the program has finished. */
    public long steps() {
        return steps.get();
    }

    /** The number of calls that the program has made. */
    public synchronized long calls() {
        return calls;
    }

    /** The monitor has found a collective that waits too long. */
    public void stalled(String collective, Collection<Integer> waiting, Collection<Integer> missing, long millis) {
        jfr.stalled(collective, waiting, missing, millis);
    }

    /** Calls that have not ended, in the order in which they were made. */
    public synchronized List<Call> pending() {
        List<Call> copies = new ArrayList<>();
        for (Call call = pendingEnds.next; call != pendingEnds; call = call.next) {
            copies.add(copyOf(call));
        }
        return copies;
    }

    /** The last calls, ended or not, in the order in which they were made. */
    public synchronized List<Call> recent() {
        List<Call> copies = new ArrayList<>();
        for (long number = Math.max(0, calls - recent.length) + 1; number <= calls; number++) {
            copies.add(copyOf(recent[place(number)]));
        }
        return copies;
    }

    private static Call copyOf(Call call) {
        Call copy = new Call();
        copy.copy(call);
        return copy;
    }
}
