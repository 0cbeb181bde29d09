package io.hvd.trace;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Remembers what this rank is waiting for and its last calls, for whoever asks why a job hangs. Any
 * thread may use it.
 */
public final class FlightRecorder {
    private final int keep;
    private final Set<Call> pending = new LinkedHashSet<>();
    private final ArrayDeque<Call> recent = new ArrayDeque<>();
    private long calls;

    /** @param keep how many calls are remembered after they have ended */
    public FlightRecorder(int keep) {
        this.keep = keep;
    }

    /** A user's thread has called a collective. */
    public Call submitted(Call.Operation operation) {
        String site = CallSite.current();
        long now = System.nanoTime();
        synchronized (this) {
            Call call = new Call(++calls, operation, site, Thread.currentThread(), now);
            pending.add(call);
            recent.add(call);
            if (recent.size() > keep) {
                recent.remove();
            }
            return call;
        }
    }

    /** The data plane takes it up now. */
    public void started(Call call) {
        call.start(System.nanoTime());
    }

    /** @param error why it failed, or empty */
    public synchronized void ended(Call call, String error) {
        call.end(System.nanoTime(), error);
        pending.remove(call);
    }

    /** Calls that have not ended, in the order in which they were made. */
    public synchronized List<Call> pending() {
        return List.copyOf(pending);
    }

    /** The last calls, ended or not, in the order in which they were made. */
    public synchronized List<Call> recent() {
        return new ArrayList<>(recent);
    }
}
