package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.CallView;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The unnamed calls of one method of the program's interface on two ranks. Each method counts its calls for itself, and
 * both lists begin at the same counter.
 */
record CallComparison(Side left, Side right, long begin) {
    /** The most calls that are compared, however many a recorder keeps: the time grows with their square. */
    private static final int MOST_CALLS = 512;

    /** The calls of one rank. */
    private record Side(CallHistory history, List<CallView> calls) {
        long counter(int place) {
            return CallLabel.of(calls.get(place)).counter();
        }

        long last() {
            return counter(calls.size() - 1);
        }

        Side from(long counter) {
            return new Side(
                    history,
                    calls.stream()
                            .filter(call -> CallLabel.of(call).counter() >= counter)
                            .toList());
        }

        List<CallLabel> labels() {
            return calls.stream().map(CallLabel::of).toList();
        }

        long count(CallLabel one) {
            return labels().stream().filter(one::isSameAs).count();
        }
    }

    /**
     * A call that only one of two ranks has made.
     *
     * @param teller the calls of the rank that has made it
     * @param isKnown false if the ranks may have parted before the first call that both still remember
     */
    record Gap(CallHistory teller, CallHistory other, CallView call, boolean isKnown) {
        CallLabel label() {
            return CallLabel.of(call);
        }
    }

    /** The pairs of lists, one for each method that both ranks have called without a name. */
    static List<CallComparison> of(CallHistory left, CallHistory right) {
        Map<String, List<CallView>> ofLeft = byMethod(left);
        Map<String, List<CallView>> ofRight = byMethod(right);
        return ofLeft.keySet().stream()
                .filter(ofRight::containsKey)
                .map(method -> of(new Side(left, ofLeft.get(method)), new Side(right, ofRight.get(method))))
                .toList();
    }

    private static Map<String, List<CallView>> byMethod(CallHistory history) {
        return history.calls().stream()
                .filter(call -> CallLabel.of(call).unnamed())
                .collect(Collectors.groupingBy(
                        call -> CallLabel.of(call).name(), LinkedHashMap::new, Collectors.toList()));
    }

    private static CallComparison of(Side left, Side right) {
        long both = Math.max(left.counter(0), right.counter(0));
        long begin = Math.max(both, Math.max(left.last(), right.last()) - MOST_CALLS + 1);
        return new CallComparison(left.from(begin), right.from(begin), begin);
    }

    /** The first call that only one of the ranks has made, although both have made calls after it. */
    Optional<Gap> firstGap() {
        List<CallAlignment.Pair> pairs = CallAlignment.of(left.labels(), right.labels());
        for (int i = 0; i < pairs.size(); i++) {
            if (pairs.get(i).isAlone()) {
                boolean isKnown = i > 0 || begin == 0;
                return isFollowed(pairs.subList(i, pairs.size())) ? gap(pairs.get(i), isKnown) : Optional.empty();
            }
        }
        return Optional.empty();
    }

    /** Calls at the end that only one rank has made have not been left out: the other one may be behind. */
    private static boolean isFollowed(List<CallAlignment.Pair> pairs) {
        return pairs.stream().anyMatch(pair -> !pair.isAlone());
    }

    private Optional<Gap> gap(CallAlignment.Pair pair, boolean isKnown) {
        return pair.right() == CallAlignment.NONE
                ? gap(left, pair.left(), right, isKnown)
                : gap(right, pair.right(), left, isKnown);
    }

    /** Nothing is left out that the other rank has called as often, if only in another order. */
    private static Optional<Gap> gap(Side teller, int place, Side other, boolean isKnown) {
        CallView call = teller.calls().get(place);
        CallLabel label = CallLabel.of(call);
        return teller.count(label) > other.count(label)
                ? Optional.of(new Gap(teller.history(), other.history(), call, isKnown))
                : Optional.empty();
    }
}
