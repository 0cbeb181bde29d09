package io.hvd.trace;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Remembers what this rank is waiting for and its last calls, for whoever asks why a job hangs, and
 * passes on what happens to a listener. While nobody listens, that costs a look at one field. Any
 * thread may use it.
 */
public final class FlightRecorder {
    private final int keep;
    private final Set<Call> pending = new LinkedHashSet<>();
    private final ArrayDeque<Call> recent = new ArrayDeque<>();
    private volatile TraceListener listener;
    private long calls;

    /**
     * @param keep how many calls are remembered; the last one always is, because it tells how long a rank
     *     has been idle and on which thread it trains
     */
    public FlightRecorder(int keep) {
        this.keep = Math.max(1, keep);
    }

    /** From here on this one is told; null for nobody. */
    public void listen(TraceListener told) {
        listener = told;
    }

    /** Whether anybody wants to hear what is worth no look at a clock otherwise. */
    public boolean isHeard() {
        return listener != null;
    }

    /** A user's thread has called a collective. */
    public Call submitted(Call.Operation operation) {
        return submittedFrom(CallSite.current(), operation);
    }

    /** Records a call whose line in the program is known already. */
    public Call submittedFrom(String site, Call.Operation operation) {
        long now = System.nanoTime();
        Call call = remember(operation, site, now);
        tell(heard -> heard.submitted(call));
        return call;
    }

    private synchronized Call remember(Call.Operation operation, String site, long now) {
        Call call = new Call(++calls, operation, site, Thread.currentThread(), now);
        pending.add(call);
        recent.add(call);
        if (recent.size() > keep) {
            recent.remove();
        }
        return call;
    }

    /** @param negotiated as in {@link TraceListener#announced} */
    public void announced(Call call, boolean negotiated) {
        tell(heard -> heard.announced(call, negotiated, System.nanoTime()));
    }

    /** Rank 0 alone: a rank has asked for an operation. */
    public void ready(int processSet, String kind, String name, int rank) {
        tell(heard -> heard.ready(new TraceListener.Arrival(processSet, kind, name, rank), System.nanoTime()));
    }

    /**
     * The data plane takes it up now, because all members have come.
     *
     * @param batch as in {@link TraceListener#started}
     */
    public void started(Call call, Call batch) {
        call.start(System.nanoTime());
        entered(call, batch);
    }

    /** The data plane takes it up now and waits there for whoever has not come yet: a step of a static plan. */
    public void entered(Call call, Call batch) {
        tell(heard -> heard.started(call, batch, System.nanoTime()));
    }

    /** The data plane has done a piece of work that began then. */
    public void activity(Call batch, String name, long fromNanos) {
        tell(heard -> heard.activity(batch, name, fromNanos, System.nanoTime()));
    }

    /** @param error why it failed, or empty */
    public void ended(Call call, String error) {
        call.end(System.nanoTime(), error);
        synchronized (this) {
            pending.remove(call);
        }
        tell(heard -> heard.ended(call));
    }

    /** A user's thread has waited for a result since then. */
    public void waited(int processSet, String name, long fromNanos) {
        tell(heard -> heard.waited(processSet, name, fromNanos, System.nanoTime()));
    }

    /** The engine turns to its queue again. */
    public void cycle() {
        tell(heard -> heard.cycle(System.nanoTime()));
    }

    /** The user's program has finished a training step. */
    public void step() {
        tell(heard -> heard.step(System.nanoTime()));
    }

    /** Calls that have not ended, in the order in which they were made. */
    public synchronized List<Call> pending() {
        return List.copyOf(pending);
    }

    /** The last calls, ended or not, in the order in which they were made. */
    public synchronized List<Call> recent() {
        return new ArrayList<>(recent);
    }

    private void tell(Consumer<TraceListener> what) {
        TraceListener heard = listener;
        if (heard != null) {
            what.accept(heard);
        }
    }
}
