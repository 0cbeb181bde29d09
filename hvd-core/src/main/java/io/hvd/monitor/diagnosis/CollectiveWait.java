package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.RankView;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;

/**
 * A collective in which some ranks wait.
 *
 * @param waiting the ranks that have called it, with their calls
 * @param missing the members that must call it and have not; none once the data plane has begun, because it begins only
 *     when all have called
 * @param millis the time for which it has waited without an excuse
 */
public record CollectiveWait(
        CallView.Key key, SortedMap<Integer, CallView> waiting, SortedSet<Integer> missing, long millis) {

    /** Puts the most telling wait first: one in which many ranks wait for few, then the oldest. */
    private static final Comparator<CollectiveWait> MOST_TELLING = Comparator.comparing(CollectiveWait::isBegun)
            .reversed()
            .thenComparing(wait -> wait.missing.isEmpty())
            .thenComparing(wait -> wait.missing.size())
            .thenComparing(wait -> -wait.oldestMillis());

    boolean isBegun() {
        return waiting.values().stream().anyMatch(CallView::isStarted);
    }

    /** The ranks that make the call, or are to make it. */
    public Collection<Integer> members() {
        return waiting.get(waiting.firstKey()).members();
    }

    public long oldestMillis() {
        return waiting.values().stream().mapToLong(CallView::submittedAgo).max().orElse(0);
    }

    /** True if it is the same wait seen at another time, in which a rank is still in the same call. */
    public boolean isSameAs(CollectiveWait other) {
        return key.equals(other.key)
                && waiting.entrySet().stream()
                        .anyMatch(mine -> other.waiting.containsKey(mine.getKey())
                                && other.waiting.get(mine.getKey()).number()
                                        == mine.getValue().number());
    }

    /** Line that made the call on the lowest rank that waits. */
    public String site() {
        return waiting.get(waiting.firstKey()).site();
    }

    /**
     * The waits of the ranks that answer, whatever their age, the most telling one first. A call that a silent rank has
     * published counts if it came after the calls of all other ranks, because it is then the same call.
     */
    public static List<CollectiveWait> of(Collection<RankView> ranks) {
        Map<CallView.Key, TreeMap<Integer, CallView>> callers = new LinkedHashMap<>();
        ranks.stream()
                .filter(RankView::answers)
                .forEach(view -> view.activity()
                        .pending()
                        .forEach(call -> callers.computeIfAbsent(call.key(), key -> new TreeMap<>())
                                .putIfAbsent(view.rank(), call)));
        Map<Integer, RankView> byRank = new TreeMap<>();
        ranks.forEach(view -> byRank.put(view.rank(), view));
        Map<CallView.Key, SortedSet<Integer>> missing = new LinkedHashMap<>();
        callers.forEach((key, waiting) -> {
            addSilent(key, waiting, ranks);
            missing.put(key, missing(key, waiting, byRank));
        });
        UnexcusedTime times = new UnexcusedTime(byRank, missing);
        List<CollectiveWait> waits = new ArrayList<>();
        callers.forEach((key, waiting) -> waits.add(of(key, waiting, missing.get(key), times)));
        waits.sort(MOST_TELLING);
        return List.copyOf(waits);
    }

    private static void addSilent(CallView.Key key, TreeMap<Integer, CallView> waiting, Collection<RankView> ranks) {
        long youngest = waiting.values().stream()
                .mapToLong(CallView::submittedAgo)
                .min()
                .orElse(0);
        ranks.stream()
                .filter(view -> !view.answers() && view.heardAgo() < youngest)
                .forEach(view -> view.activity().waitingIn(key).ifPresent(call -> waiting.put(view.rank(), call)));
    }

    /** The members that must call it and have not. */
    private static SortedSet<Integer> missing(
            CallView.Key key, SortedMap<Integer, CallView> waiting, Map<Integer, RankView> ranks) {
        SortedSet<Integer> missing = new TreeSet<>();
        if (waiting.values().stream().noneMatch(CallView::isStarted)) {
            waiting.values().forEach(call -> missing.addAll(call.members()));
            missing.removeAll(waiting.keySet());
            // Nothing stands in for a rank that has joined where a tensor goes from one rank to another.
            missing.removeIf(rank -> !key.kind().equals(CallView.TRANSFER)
                    && ranks.containsKey(rank)
                    && ranks.get(rank).activity().hasJoined(key.processSet()));
        }
        return missing;
    }

    /**
     * The time waited for the missing ranks, less the time for which all of them had an excuse; if no rank is missing,
     * the time since the last one came.
     */
    private static CollectiveWait of(
            CallView.Key key, SortedMap<Integer, CallView> waiting, SortedSet<Integer> missing, UnexcusedTime times) {
        LongStream ages = waiting.values().stream().mapToLong(CallView::submittedAgo);
        if (missing.isEmpty()) {
            return new CollectiveWait(
                    key, waiting, missing, times.unexcused(ages.min().orElse(0)));
        }
        long oldest = ages.max().orElse(0);
        long unexcused = missing.stream()
                .mapToLong(rank -> times.unexcused(key, rank, oldest))
                .max()
                .orElse(oldest);
        return new CollectiveWait(key, waiting, missing, unexcused);
    }
}
