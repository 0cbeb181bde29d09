package io.hvd.monitor.view;

import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import java.util.Optional;

/**
 * The activity of a rank, as far as collectives show it.
 *
 * @param pending calls that have not ended, oldest first; in a sign of life only the first ones
 * @param recent the last calls in their order, whether they have ended or not
 */
public record Activity(List<CallView> pending, List<CallView> recent, PhaseView phase) {
    public static final Activity UNKNOWN = new Activity(List.of(), List.of(), PhaseView.NONE);

    public Activity {
        pending = List.copyOf(pending);
        recent = List.copyOf(recent);
    }

    public static Activity of(FlightRecorder recorder, PhaseView phase) {
        List<Call> pending = recorder.pending();
        List<Call> recent = recorder.recent();
        long now = System.nanoTime();
        return new Activity(view(pending, now), view(recent, now), phase);
    }

    /** A shorter activity that fits into a datagram. */
    public Activity brief(int calls) {
        return new Activity(
                pending.subList(0, Math.min(calls, pending.size())),
                recent.subList(Math.max(0, recent.size() - calls), recent.size()),
                phase);
    }

    public Activity after(long millis) {
        return new Activity(
                pending.stream().map(call -> call.after(millis)).toList(),
                recent.stream().map(call -> call.after(millis)).toList(),
                phase.after(millis));
    }

    /** Age of the oldest pending call in milliseconds, or 0. */
    public long oldestMillis() {
        return pending.stream().mapToLong(CallView::submittedAgo).max().orElse(0);
    }

    /** Time in milliseconds since it made a call or got a result; the greatest value if it never did. */
    public long idleMillis() {
        return recent.stream()
                .mapToLong(call -> call.isPending() ? call.submittedAgo() : call.endedAgo())
                .min()
                .orElse(Long.MAX_VALUE);
    }

    /** Whether the rank has run out of data, so that the others go on without it. */
    public boolean hasJoined(int processSet) {
        return pending.stream()
                .anyMatch(call -> call.key().isJoin() && call.key().processSet() == processSet);
    }

    public Optional<CallView> waitingIn(CallView.Key key) {
        return pending.stream().filter(call -> call.key().equals(key)).findFirst();
    }

    public Optional<CallView> last() {
        return recent.isEmpty() ? Optional.empty() : Optional.of(recent.get(recent.size() - 1));
    }

    private static List<CallView> view(List<Call> calls, long now) {
        return calls.stream().map(call -> CallView.of(call, now)).toList();
    }
}
