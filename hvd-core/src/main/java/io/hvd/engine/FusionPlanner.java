package io.hvd.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiPredicate;
import java.util.function.Function;

/**
 * Puts operations that may share one buffer together, in the order in which they became ready,
 * looking past those that do not fit. A pure function, so that a plan can be tested as a value.
 */
final class FusionPlanner {
    private FusionPlanner() {}

    /** Operations that may be carried out as one. */
    record Fused(List<Tally> tallies) {
        Request first() {
            return tallies.get(0).first();
        }
    }

    /**
     * @param ready agreed operations, of one kind per fused batch
     * @param thresholdBytes most that a fused batch may carry; a single larger operation still runs
     *     alone, and with 0 all do
     */
    static List<Fused> fuse(List<Tally> ready, long thresholdBytes) {
        // Ranks that have joined stand in for all of a batch or for none of it: scale factors go by batch.
        return fuse(ready, thresholdBytes, Tally::first, Tally::isMissingTheSame).stream()
                .map(Fused::new)
                .toList();
    }

    /**
     * @param asked what each of them is
     * @param alike whether two of them may go together for all that is not in the request
     */
    static <T> List<List<T>> fuse(
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
