package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.RankView;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;

/**
 * Computes how long ranks have kept others waiting without an excuse. A rank in a phase has an excuse, and so has every
 * rank that has called a collective which waits for such a rank, because a thread of its program may wait there. The
 * result depends only on the ranks' own reports.
 *
 * @param ranks the ranks' views by number
 * @param missing the ranks that every collective under way still waits for
 */
record UnexcusedTime(Map<Integer, RankView> ranks, Map<CallView.Key, SortedSet<Integer>> missing) {
    private static final SortedSet<Integer> NOBODY = Collections.emptySortedSet();

    /** The part of {@code millis} for which a collective has waited for this rank without an excuse. */
    long unexcused(CallView.Key key, int rank, long millis) {
        // A rank that has reached its end waits without a limit as long as the others make progress.
        long counted = key.isLast() && ranks.containsKey(rank)
                ? Math.min(millis, ranks.get(rank).activity().idleMillis())
                : millis;
        return unexcused(rank, counted, new HashSet<>());
    }

    /**
     * The unexcused time of a collective that all ranks have called and that does not end. The reason may be the
     * communication thread of a rank that waits for a rank in a phase.
     */
    long unexcused(long millis) {
        return ranks.values().stream()
                .mapToLong(view -> view.activity().phase().unexcused(millis))
                .min()
                .orElse(millis);
    }

    /**
     * @param asked the ranks that have been asked already; ranks that wait for each other in a circle have no excuse
     */
    private long unexcused(int rank, long millis, Set<Integer> asked) {
        RankView view = ranks.get(rank);
        if (view == null || !asked.add(rank)) {
            return millis;
        }
        long own = view.activity().phase().unexcused(millis);
        long least = own;
        if (own > 0) {
            for (CallView call : view.activity().pending()) {
                least = Math.min(least, unexcused(missing.getOrDefault(call.key(), NOBODY), own, asked));
            }
        }
        asked.remove(rank);
        return least;
    }

    private long unexcused(SortedSet<Integer> absent, long millis, Set<Integer> asked) {
        return absent.stream()
                .mapToLong(rank -> unexcused(rank, millis, asked))
                .max()
                .orElse(millis);
    }
}
