package io.hvd.monitor;

import io.hvd.trace.Call;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A collective of some rank as seen by another: clocks of different processes cannot be compared, so
 * all times are ages.
 *
 * @param site line of the user's program that made the call
 * @param submittedAgo milliseconds
 * @param startedAgo milliseconds since the data plane took it up, or -1
 * @param endedAgo milliseconds, or -1 while it is pending
 * @param error why it failed, or empty
 */
record CallView(
        long number,
        Key key,
        String detail,
        List<Integer> members,
        String site,
        long submittedAgo,
        long startedAgo,
        long endedAgo,
        String error) {
    static final long NOT_YET = -1;

    /** What the ranks must have in common to meet. */
    record Key(int processSet, String kind, String name) {
        @Override
        public String toString() {
            return kind + " \"" + name + "\"" + (processSet == 0 ? "" : " of process set " + processSet);
        }
    }

    static CallView of(Call call, long nowNanos) {
        Call.Operation operation = call.operation();
        return new CallView(
                call.number(),
                new Key(operation.processSet(), operation.kind(), operation.name()),
                operation.detail(),
                operation.members(),
                call.site(),
                age(call.submittedNanos(), nowNanos),
                age(call.startedNanos(), nowNanos),
                age(call.endedNanos(), nowNanos),
                call.error());
    }

    boolean isPending() {
        return endedAgo == NOT_YET;
    }

    boolean isStarted() {
        return startedAgo != NOT_YET;
    }

    /** The same call some time later, if nothing has happened since. */
    CallView after(long millis) {
        return new CallView(
                number,
                key,
                detail,
                members,
                site,
                later(submittedAgo, millis),
                later(startedAgo, millis),
                later(endedAgo, millis),
                error);
    }

    private static long age(long nanos, long nowNanos) {
        return nanos == 0 ? NOT_YET : Math.max(0, TimeUnit.NANOSECONDS.toMillis(nowNanos - nanos));
    }

    private static long later(long ago, long millis) {
        return ago == NOT_YET ? NOT_YET : ago + millis;
    }
}
