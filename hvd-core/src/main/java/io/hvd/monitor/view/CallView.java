package io.hvd.monitor.view;

import io.hvd.spi.OpKind;
import io.hvd.trace.Call;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * A collective of a rank as another rank sees it. All times are ages, because the clocks of different processes cannot
 * be compared.
 *
 * @param site line of the user's program that made the call
 * @param submittedAgo milliseconds
 * @param startedAgo milliseconds since the data plane took it up, or -1
 * @param endedAgo milliseconds, or -1 while it is pending
 * @param error why it failed, or empty
 */
public record CallView(
        long number,
        Key key,
        String detail,
        List<Integer> members,
        String site,
        long submittedAgo,
        long startedAgo,
        long endedAgo,
        String error) {
    public static final long NOT_YET = -1;
    /** The kind of a send and of the receive that it waits for. */
    public static final String TRANSFER = "transfer";
    /** The kind of the call that a rank records when it begins to close. */
    public static final String CLOSE = "close";

    /** The properties of a call that must be the same on all ranks for them to meet. */
    public record Key(int processSet, String kind, String name) {
        private static final Set<String> HALVES = Set.of(OpKind.SEND.toString(), OpKind.RECEIVE.toString());

        public static Key of(Call.Operation operation) {
            String kind = HALVES.contains(operation.kind()) ? TRANSFER : operation.kind();
            return new Key(operation.processSet(), kind, operation.name());
        }

        /** Whether a rank that has made this call has nothing left to do and waits for the others to finish as well. */
        public boolean isLast() {
            return isJoin() || kind.equals(CLOSE);
        }

        public boolean isJoin() {
            return kind.equals(OpKind.JOIN.toString());
        }

        @Override
        public String toString() {
            return kind + " \"" + name + "\"" + (processSet == 0 ? "" : " of process set " + processSet);
        }
    }

    static CallView of(Call call, long nowNanos) {
        Call.Operation operation = call.operation();
        return new CallView(
                call.number(),
                Key.of(operation),
                operation.detail(),
                operation.members(),
                call.site(),
                age(call.submittedNanos(), nowNanos),
                age(call.startedNanos(), nowNanos),
                age(call.endedNanos(), nowNanos),
                call.error());
    }

    /** Whether it ends by itself if not all ranks come: only a barrier has a detail, which is its limit. */
    public boolean hasLimit() {
        return key.kind().equals(OpKind.BARRIER.toString()) && !detail.isEmpty();
    }

    public boolean isPending() {
        return endedAgo == NOT_YET;
    }

    public boolean isStarted() {
        return startedAgo != NOT_YET;
    }

    /** This call some time later, if nothing has happened since. */
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
