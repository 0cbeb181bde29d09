package io.hvd.train;

import io.hvd.train.Training.Outcome;
import io.hvd.train.Training.Outcome.Kind;
import io.hvd.train.loop.Position;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Whether a loop is to end, when, and why. For the thread that trains, but for the answers about a cancel. */
final class Ending {
    /** Null if this rank goes on. */
    private String reason;

    private Kind kind = Kind.FINISHED;
    /** Whether the epoch under way is left after this batch. */
    private boolean leaving;
    /** Whether no later run has anything to do. */
    private boolean over;

    private volatile boolean cancelled;
    /** Empty until the ranks have told each other. */
    private volatile SortedMap<Integer, String> cancelReasons = new TreeMap<>();

    /** Ends the loop behind the epoch. */
    void stop(String why) {
        reason = why;
        kind = Kind.STOPPED;
    }

    /** Ends the loop behind this batch. */
    void leave(String why) {
        reason = why;
        kind = Kind.LEFT;
        leaving = true;
    }

    /** Leaves an epoch that begins, since an earlier run was stopped for good. */
    void over(String why) {
        leave(why);
        kind = Kind.STOPPED;
        over = true;
    }

    /** Leaves the epoch, or stops behind it if its last step is done. The very last step ends the loop as ever. */
    void limitReached(long mostSteps, Position at, int epochs) {
        boolean endsEpoch = at.isAtEndOfEpoch();
        if (endsEpoch && at.epoch() + 1 == epochs) {
            return;
        }
        String why = "the limit of " + mostSteps + " steps is reached";
        if (endsEpoch) {
            stop(why);
        } else {
            leave(why);
        }
        kind = Kind.STEP_LIMIT;
    }

    /** The ranks have agreed to end. @param steps that are done */
    void cancelled(SortedMap<Integer, String> reasons, long steps) {
        cancelled = true;
        cancelReasons = reasons;
        leave("cancelled after step " + steps + " by "
                + reasons.entrySet().stream()
                        .map(each -> "rank " + each.getKey() + ": " + each.getValue())
                        .collect(Collectors.joining("; ")));
        boolean signalled = reasons.values().stream().anyMatch(why -> why.startsWith(Training.SIGTERM));
        kind = signalled ? Kind.SIGTERM : Kind.CANCELLED;
    }

    /** A pause has shown that a rank asks for an end; which one, the ranks tell each other behind it. */
    void cancelledInPause() {
        cancelled = true;
    }

    /** A cancel that came behind the last evaluation has changed nothing. */
    void loopEnds() {
        cancelled = !cancelReasons.isEmpty();
    }

    /** Null if this rank goes on. */
    String reason() {
        return reason;
    }

    /** Whether the epoch under way is left behind this batch. */
    boolean leaves() {
        return leaving;
    }

    /** Whether a later run goes on with the epoch that is left. */
    boolean leavesToGoOn() {
        return leaving && !over;
    }

    boolean isCancelled() {
        return cancelled;
    }

    SortedMap<Integer, String> cancelReasons() {
        return Collections.unmodifiableSortedMap(cancelReasons);
    }

    Outcome outcome(Position at) {
        return new Outcome(kind, at.steps(), at.epoch(), reason == null ? "" : reason);
    }
}
