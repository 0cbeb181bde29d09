package io.hvd.engine.tuning;

import io.hvd.engine.coordination.FusionPlanner;
import io.hvd.engine.message.Request;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Cuts a step into the batches with which it ends earliest: few batches, because each has a fixed cost, but enough of
 * them that early gradients do not wait for late ones while nothing else is under way. Among cuts that end at the same
 * time it chooses the one with the fewest batches.
 *
 * <p>Where batches take the program's cores, early batches gain nothing, and the fewest batches are best.
 *
 * <p>Batches run one after the other, in the order in which their operations become ready, and each begins when the
 * last of its operations is ready. Dynamic programming finds the best of all these cuts. The result depends on the
 * arguments only.
 */
final class StepCut {
    private final Pace pace;
    private final long threshold;
    private final boolean groupFusion;
    private final boolean overlaps;

    /**
     * @param threshold most bytes of a batch, as in {@link FusionPlanner}
     * @param groupFusion whether a group is one batch, whatever its size
     * @param overlaps whether the program computes while a batch runs
     */
    StepCut(Pace pace, long threshold, boolean groupFusion, boolean overlaps) {
        this.overlaps = overlaps;
        this.pace = pace;
        this.threshold = threshold;
        this.groupFusion = groupFusion;
    }

    /**
     * When an operation was submitted, in nanoseconds since the step's beginning.
     *
     * @param neededNanos when the program submitted its next operation after it had waited for this one or learnt that
     *     it was done; that operation and later ones may need the result, so they never share a batch with this one
     */
    record Ready(Request request, long nanos, long neededNanos) {}

    /** What is never cut: one operation, or a group, which is ready when its last operation is. */
    private record Piece(List<Request> requests, long nanos, long neededNanos, long bytes) {
        /**
         * Whether its operations fit into one batch. A group of several types never shares a batch: a part of it would
         * run long before the rest, and if the plan ended in between, the rest would wait for the whole group for ever.
         */
        boolean isOfOneType() {
            return StepCut.fused(requests, Long.MAX_VALUE).size() == 1;
        }

        static Piece of(List<Ready> members) {
            return new Piece(
                    members.stream().map(Ready::request).toList(),
                    members.stream().mapToLong(Ready::nanos).max().orElseThrow(),
                    members.stream().mapToLong(Ready::neededNanos).min().orElseThrow(),
                    members.stream().mapToLong(one -> one.request().wireBytes()).sum());
        }
    }

    /** The best cut: the names of the operations, batch by batch. */
    List<List<String>> best(List<Ready> step) {
        List<Piece> pieces = pieces(step);
        int[] begins = begins(pieces);
        List<List<String>> batches = new ArrayList<>();
        for (int end = pieces.size(); end > 0; end = begins[end]) {
            batches.addAll(0, fused(pieces.subList(begins[end], end)));
        }
        return batches;
    }

    /**
     * When the step would end with these batches, in nanoseconds since its beginning; without the program's own time if
     * batches and program do not overlap.
     */
    double end(List<Ready> step, List<List<String>> batches) {
        Map<String, Ready> byName = new LinkedHashMap<>();
        step.forEach(one -> byName.put(one.request().name(), one));
        double end = 0;
        for (List<String> batch : batches) {
            List<Ready> members = batch.stream().map(byName::get).toList();
            Piece piece = Piece.of(members);
            end = begin(end, piece) + pace.nanosFor(piece.bytes());
        }
        return end;
    }

    /**
     * When a batch with these last operations begins; without the program's own time if batches and program do not
     * overlap.
     */
    private double begin(double before, Piece last) {
        return overlaps ? Math.max(before, last.nanos()) : before;
    }

    private List<Piece> pieces(List<Ready> step) {
        Map<String, List<Ready>> together = new LinkedHashMap<>();
        for (Ready one : step) {
            Request.Group group = one.request().group();
            String key = group.isNone() ? "operation " + one.request().name() : "group " + group.name();
            together.computeIfAbsent(key, name -> new ArrayList<>()).add(one);
        }
        return together.values().stream()
                .map(Piece::of)
                .sorted(Comparator.comparingLong(Piece::nanos))
                .toList();
    }

    /**
     * For every number of pieces from the first one on: the first piece of the last batch in the cut that ends
     * earliest.
     */
    private int[] begins(List<Piece> pieces) {
        double[] ends = new double[pieces.size() + 1];
        int[] begins = new int[pieces.size() + 1];
        int[] counts = new int[pieces.size() + 1];
        List<Boolean> sharing = pieces.stream().map(Piece::isOfOneType).toList();
        for (int end = 1; end <= pieces.size(); end++) {
            ends[end] = Double.MAX_VALUE;
            Piece last = pieces.get(end - 1);
            long bytes = 0;
            for (int begin = end - 1; begin >= 0; begin--) {
                bytes += pieces.get(begin).bytes();
                boolean fits = bytes <= threshold
                        && pieces.get(begin).neededNanos() > last.nanos()
                        && sharing.get(begin)
                        && sharing.get(end - 1);
                if (!fits && begin < end - 1) {
                    break;
                }
                double then = begin(ends[begin], last) + pace.nanosFor(bytes);
                int count = counts[begin] + 1;
                if (then < ends[end] || (then == ends[end] && count < counts[end])) {
                    ends[end] = then;
                    begins[end] = begin;
                    counts[end] = count;
                }
            }
        }
        return begins;
    }

    /**
     * Operations of different types take a batch for each type, even if they are ready together. Several pieces are
     * below the threshold.
     */
    private List<List<String>> fused(List<Piece> pieces) {
        List<Request> requests =
                pieces.stream().flatMap(piece -> piece.requests().stream()).toList();
        boolean loneGroup = pieces.size() == 1 && !requests.get(0).group().isNone();
        return fused(requests, loneGroup && groupFusion ? Long.MAX_VALUE : threshold);
    }

    private static List<List<String>> fused(List<Request> requests, long threshold) {
        return FusionPlanner.fuse(requests, threshold, request -> request, (one, other) -> true).stream()
                .map(batch -> batch.stream().map(Request::name).toList())
                .toList();
    }
}
