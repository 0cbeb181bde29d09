package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.RankView;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.stream.Collectors;

/**
 * Tells where the ranks' sequences of calls part, to explain a hang that is known already. Calls with names are
 * matched by name, so that their order does not matter.
 */
final class CallDivergences {
    private static final int MOST_DIVERGENCES = 3;

    private final List<CollectiveWait> waits;
    private final Collection<RankView> views;
    private final CollectiveWait first;
    private final Map<Integer, CallHistory> histories;

    /**
     * @param waits too old, the most telling first; ranks are missing in it
     * @param views the views of all ranks
     */
    CallDivergences(List<CollectiveWait> waits, Collection<RankView> views) {
        this.waits = waits;
        this.views = views;
        this.first = waits.get(0);
        this.histories = CallHistory.all(views, first.key().processSet());
    }

    /** Says which unnamed calls a rank has left out or has made in addition, before the calls in which the ranks wait. */
    Optional<String> byShiftedNames() {
        List<MissedCall> omissions = hasJoined()
                ? List.of()
                : new ShiftedNames(histories)
                        .find().stream().filter(this::explains).toList();
        if (omissions.isEmpty()) {
            return Optional.empty();
        }
        if (!omissions.get(0).isKnown()) {
            return Optional.of("the ranks' unnamed calls are out of step since before the first call that all of them"
                    + " remember (HVD_FLIGHT_RECORDER), so what was left out is not known");
        }
        MissedCall one = omissions.get(0);
        String words = omissions.stream()
                .filter(MissedCall::isKnown)
                .limit(MOST_DIVERGENCES)
                .map(MissedCall::words)
                .collect(Collectors.joining("; and "));
        return Optional.of(new CallDivergence(one.teller(), one.call(), one.lackers(), words).sentence()
                + "; the unnamed calls after it have met the wrong ones");
    }

    /** After a join the ranks count their unnamed calls anew, and before it they may have made different numbers. */
    private boolean hasJoined() {
        return views.stream()
                .anyMatch(view -> view.activity().hasJoined(first.key().processSet()));
    }

    /** Whether it stands between a rank that waits and one that is missing. */
    private boolean explains(MissedCall omission) {
        return areApart(omission.callers(), omission.lackers()) || areApart(omission.lackers(), omission.callers());
    }

    private boolean areApart(SortedSet<Integer> some, SortedSet<Integer> others) {
        return first.waiting().keySet().stream().anyMatch(some::contains)
                && first.missing().stream().anyMatch(others::contains);
    }

    /** Says which ranks have left out a call with a name, or have called something else. */
    Optional<String> byBranches() {
        if (isAnyRankElsewhere()) {
            return Optional.empty();
        }
        List<CallDivergence> divergences = new ArrayList<>();
        waits.stream()
                .filter(this::isOfThisSet)
                .map(this::earliest)
                .distinct()
                .filter(wait -> isNews(wait, divergences))
                .forEach(wait -> BranchedWait.of(wait, views, histories).ifPresent(divergences::add));
        return divergences.stream().anyMatch(this::isOfTheFirstWait)
                ? Optional.of(sentence(divergences))
                : Optional.empty();
    }

    /** While a missing rank is in its own code, it may yet call what it lacks, and the others may wait for that alone. */
    private boolean isAnyRankElsewhere() {
        Set<Integer> missing = CollectiveWait.of(views).stream()
                .filter(this::isOfThisSet)
                .flatMap(wait -> wait.missing().stream())
                .collect(Collectors.toSet());
        return views.stream().filter(view -> missing.contains(view.rank())).anyMatch(view -> !view.isInsideHvd());
    }

    private boolean isOfThisSet(CollectiveWait wait) {
        return wait.key().processSet() == first.key().processSet()
                && !wait.missing().isEmpty()
                && !wait.key().isLast()
                && !wait.key().kind().equals(CallView.TRANSFER);
    }

    /** Finds the first call among those that wait for the same ranks. */
    private CollectiveWait earliest(CollectiveWait one) {
        return waits.stream()
                .filter(wait -> isOfThisSet(wait) && wait.missing().equals(one.missing()))
                .filter(wait -> wait.waiting().firstKey().equals(one.waiting().firstKey()))
                .min(Comparator.comparingLong(
                        wait -> wait.waiting().get(wait.waiting().firstKey()).number()))
                .orElse(one);
    }

    /** The ranks that are missing in one call often wait in another one for those that wait there. */
    private static boolean isNews(CollectiveWait wait, List<CallDivergence> divergences) {
        return divergences.size() < MOST_DIVERGENCES
                && divergences.stream()
                        .noneMatch(divergence ->
                                divergence.without().containsAll(wait.waiting().keySet()));
    }

    /** Two waits in each other are one divergence, seen from both sides. */
    private boolean isOfTheFirstWait(CallDivergence divergence) {
        return divergence.without().equals(first.missing())
                || divergence.without().equals(first.waiting().keySet());
    }

    private static String sentence(List<CallDivergence> divergences) {
        List<CallDivergence> inOrder = divergences.stream()
                .sorted(Comparator.comparingLong(divergence -> divergence.call().number()))
                .toList();
        return inOrder.get(0).sentence()
                + inOrder.stream()
                        .skip(1)
                        .map(divergence -> "; and " + divergence.words())
                        .collect(Collectors.joining());
    }
}
