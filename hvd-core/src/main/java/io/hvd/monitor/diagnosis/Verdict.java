package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.Phrases;
import io.hvd.monitor.view.RankView;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Explains a hang in one sentence. */
public final class Verdict {
    private static final int MOST_PLACES = 4;

    private final Map<Integer, RankView> ranks = new TreeMap<>();

    private Verdict(Collection<RankView> views) {
        views.forEach(view -> ranks.put(view.rank(), view));
    }

    /**
     * @param waits too old, the most telling first
     * @param views the views of all ranks
     */
    public static String of(List<CollectiveWait> waits, Collection<RankView> views) {
        return new Verdict(views).sentence(waits);
    }

    /** A process that is stopped or dead explains everything else. */
    private String sentence(List<CollectiveWait> waits) {
        if (waits.isEmpty()) {
            return "nothing waits any longer";
        }
        CollectiveWait wait = waits.get(0);
        Optional<String> still = stillProcesses(ranks.values());
        if (still.isPresent()) {
            return still.get() + "; " + waiters(wait);
        }
        return wait.missing().isEmpty() ? nobodyMissing(wait) : parted(waits).orElseGet(() -> missing(wait));
    }

    /** The calls before may show which rank has left the others; the one that waits alone need not be it. */
    private Optional<String> parted(List<CollectiveWait> waits) {
        CallDivergences divergences = new CallDivergences(waits, ranks.values());
        return divergences
                .byShiftedNames()
                .map(shifted -> shifted + "; " + missing(waits.get(0)))
                .or(() -> divergences.byBranches().map(parted -> parted + "; " + waiters(waits.get(0))));
    }

    /** Names the ranks whose processes are stopped or dead, if there are any. */
    public static Optional<String> stillProcesses(Collection<RankView> views) {
        List<RankView> still =
                views.stream().filter(view -> view.state().isStill()).toList();
        if (still.isEmpty()) {
            return Optional.empty();
        }
        String who = still.stream()
                .limit(MOST_PLACES)
                .map(view -> "rank " + view.rank() + " " + RankPosition.silent(view))
                .collect(Collectors.joining("; "));
        int more = still.size() - MOST_PLACES;
        return Optional.of(who + (more > 0 ? "; and " + more + " more" : ""));
    }

    private String missing(CollectiveWait wait) {
        String places = wait.missing().stream()
                .limit(MOST_PLACES)
                .map(rank -> (wait.missing().size() == 1 ? "it" : "rank " + rank) + " " + instead(wait, rank))
                .collect(Collectors.joining("; "));
        String more = wait.missing().size() > MOST_PLACES ? "; ..." : "";
        return Phrases.ranks(wait.missing()) + " " + Phrases.has(wait.missing()) + " not called " + wait.key() + ": "
                + places + more + "; " + waiters(wait);
    }

    private String instead(CollectiveWait wait, int rank) {
        return ranks.containsKey(rank) ? RankPosition.insteadOf(wait.key(), ranks.get(rank)) : "is unknown";
    }

    /** All have called it: either it has not begun everywhere, or it has and does not come back. */
    private String nobodyMissing(CollectiveWait wait) {
        List<Integer> inside = new ArrayList<>();
        List<Integer> outside = new ArrayList<>();
        wait.waiting().forEach((rank, call) -> (call.isStarted() ? inside : outside).add(rank));
        TreeSet<Integer> back = new TreeSet<>(wait.members());
        back.removeAll(wait.waiting().keySet());
        String called = nobodyIsMissing() + wait.key() + " (at " + wait.site() + ")";
        if (inside.isEmpty()) {
            return called + ", but no rank has begun to carry it out for " + Phrases.seconds(wait.millis())
                    + ": the ranks cannot agree, " + communication(outside);
        }
        if (!outside.isEmpty()) {
            return called + ", but " + Phrases.ranks(outside) + " " + Phrases.has(outside)
                    + " not begun to carry it out, while " + Phrases.ranks(inside) + " " + Phrases.has(inside)
                    + " been inside it for " + Phrases.seconds(longest(wait, inside)) + ": " + communication(outside);
        }
        return called + ", and " + (back.isEmpty() ? "all are" : Phrases.ranks(inside) + " still inside it, ")
                + (back.isEmpty()
                        ? " inside it"
                        : "while " + Phrases.ranks(back) + " " + Phrases.has(back) + " come back,")
                + " for " + Phrases.seconds(longest(wait, inside)) + ": the network or the back end is stuck, "
                + communication(inside);
    }

    /** Says that no rank is at fault, because the job ends in any case. */
    private String nobodyIsMissing() {
        boolean all = ranks.values().stream().allMatch(RankView::answers);
        return all ? "every rank is alive and none is missing: all ranks have called " : "all ranks have called ";
    }

    private static long longest(CollectiveWait wait, List<Integer> inside) {
        return inside.stream()
                .mapToLong(rank -> wait.waiting().get(rank).startedAgo())
                .max()
                .orElse(0);
    }

    private String communication(List<Integer> of) {
        return of.stream()
                .limit(MOST_PLACES)
                .map(ranks::get)
                .map(view -> view.live()
                        .map(live -> "the communication thread of rank " + view.rank() + " is at "
                                + live.communication().place())
                        .orElseGet(() -> "rank " + view.rank() + " " + RankPosition.silent(view)))
                .collect(Collectors.joining(", "));
    }

    private static String waiters(CollectiveWait wait) {
        Collection<Integer> waiting = wait.waiting().keySet();
        return Phrases.ranks(waiting) + (waiting.size() == 1 ? " has" : " have") + " waited in " + wait.key() + " for "
                + Phrases.seconds(wait.oldestMillis()) + " (called at " + wait.site() + ")";
    }
}
