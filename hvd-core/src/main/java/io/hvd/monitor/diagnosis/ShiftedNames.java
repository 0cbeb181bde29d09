package io.hvd.monitor.diagnosis;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Finds unnamed calls that a rank has left out. From such a call on, each of the rank's names is that of an earlier call
 * on the other ranks, so that the hang comes later and under another name.
 *
 * @param histories the calls of the ranks to compare, by rank
 */
record ShiftedNames(Map<Integer, CallHistory> histories) {
    /** One rank is compared with all others. Of three that are tried, the one that differs from the fewest is right. */
    private static final int MOST_REFERENCES = 3;

    private record Which(boolean byReference, CallLabel label) {}

    /** The result of one rank's comparison with the others. */
    private record Comparison(CallHistory reference, List<CallComparison.Gap> gaps) {
        boolean isByReference(CallComparison.Gap gap) {
            return gap.teller() == reference;
        }

        int differing(CallComparison.Gap gap) {
            return isByReference(gap) ? gap.other().rank() : gap.teller().rank();
        }
    }

    /** The first call that each rank has left out, or has made in addition; in the order of the calls. */
    List<MissedCall> find() {
        return histories.values().stream()
                .limit(MOST_REFERENCES)
                .map(this::compare)
                .min(Comparator.comparingInt(comparison -> comparison.gaps().size()))
                .map(this::omissions)
                .orElse(List.of());
    }

    private Comparison compare(CallHistory reference) {
        List<CallComparison.Gap> gaps = histories.values().stream()
                .filter(other -> other != reference)
                .flatMap(other -> first(reference, other).stream())
                .toList();
        return new Comparison(reference, gaps);
    }

    private static Optional<CallComparison.Gap> first(CallHistory reference, CallHistory other) {
        return CallComparison.of(reference, other).stream()
                .flatMap(both -> both.firstGap().stream())
                .min(Comparator.comparingLong(gap -> gap.call().number()));
    }

    private List<MissedCall> omissions(Comparison comparison) {
        Map<Which, List<CallComparison.Gap>> alike = comparison.gaps().stream()
                .collect(Collectors.groupingBy(
                        gap -> new Which(comparison.isByReference(gap), gap.label()),
                        LinkedHashMap::new,
                        Collectors.toList()));
        return alike.values().stream()
                .map(gaps -> omission(comparison, gaps))
                .sorted(Comparator.comparingLong(omission -> omission.call().number()))
                .toList();
    }

    /** A rank that does not differ from the reference has made the call if the reference has. */
    private MissedCall omission(Comparison comparison, List<CallComparison.Gap> gaps) {
        CallComparison.Gap one = gaps.get(0);
        SortedSet<Integer> differing = new TreeSet<>();
        gaps.forEach(gap -> differing.add(comparison.differing(gap)));
        SortedSet<Integer> rest = new TreeSet<>(histories.keySet());
        rest.removeAll(differing);
        boolean isKnown = gaps.stream().allMatch(CallComparison.Gap::isKnown);
        return comparison.isByReference(one)
                ? new MissedCall(one.teller(), one.call(), rest, differing, isKnown)
                : new MissedCall(one.teller(), one.call(), differing, rest, isKnown);
    }
}
