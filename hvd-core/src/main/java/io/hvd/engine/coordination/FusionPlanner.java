package io.hvd.engine.coordination;

import io.hvd.engine.message.Request;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiPredicate;
import java.util.function.Function;

/**
 * Puts operations together that may share one buffer, in the order in which they became ready, and skips those that do
 * not fit. The result depends on the arguments only, so that tests can compare it as a value.
 */
public final class FusionPlanner {
    private FusionPlanner() {}

    /** Operations that may be carried out as one. */
    record Fused(List<Tally> tallies) {
        Request first() {
            return tallies.get(0).first();
        }
    }

    /**
     * @param ready operations that the ranks agree on, which may be of several kinds
     * @param thresholdBytes the most bytes that a fused batch may carry; a larger operation runs alone, and with 0 all
     *     of them do
     */
    static List<Fused> fuse(List<Tally> ready, long thresholdBytes) {
        // A rank that has joined stands in for all operations of a batch or for none, because scale factors are those
        // of the batch.
        return fuse(ready, thresholdBytes, Tally::first, Tally::isMissingTheSame).stream()
                .map(Fused::new)
                .toList();
    }

    /**
     * @param asked gives the request of each of them
     * @param alike whether two of them may go together as far as the request does not decide it
     */
    public static <T> List<List<T>> fuse(
            List<T> ready, long thresholdBytes, Function<T, Request> asked, BiPredicate<T, T> alike) {
        List<Open<T>> open = new ArrayList<>();
        for (T one : ready) {
            Request request = asked.apply(one);
            Open<T> batch = open.stream()
                    .filter(candidate -> candidate.takes(request, thresholdBytes) && alike.test(candidate.first(), one))
                    .findFirst()
                    .orElse(null);
            if (batch == null) {
                batch = new Open<>(request);
                open.add(batch);
            }
            batch.add(one, request);
        }
        return open.stream().map(batch -> List.copyOf(batch.members)).toList();
    }

    private static final class Open<T> {
        private final Request request;
        private final List<T> members = new ArrayList<>();
        private long bytes;

        Open(Request request) {
            this.request = request;
        }

        T first() {
            return members.get(0);
        }

        boolean takes(Request other, long thresholdBytes) {
            return thresholdBytes > 0 && request.fusesWith(other) && bytes + other.wireBytes() <= thresholdBytes;
        }

        void add(T one, Request its) {
            members.add(one);
            bytes += its.wireBytes();
        }
    }
}
