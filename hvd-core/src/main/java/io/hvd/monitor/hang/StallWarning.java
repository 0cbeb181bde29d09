package io.hvd.monitor.hang;

import io.hvd.monitor.diagnosis.CollectiveWait;
import io.hvd.monitor.diagnosis.RankPosition;
import io.hvd.monitor.diagnosis.Verdict;
import io.hvd.monitor.view.Phrases;
import io.hvd.monitor.view.RankView;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The warning that collectives wait for ranks that have not called them, or whose processes do not run. */
public final class StallWarning {
    private static final int MOST_NAMES = 6;

    private StallWarning() {}

    /**
     * One line.
     *
     * @param waits older than the warning time
     * @param limit the time after which the job is ended, or 0
     */
    public static String text(List<CollectiveWait> waits, List<RankView> ranks, Duration limit) {
        long oldest = waits.stream().mapToLong(CollectiveWait::millis).max().orElse(0);
        String names = names(waits.stream().map(wait -> wait.key().name()).toList());
        Optional<String> still = Verdict.stillProcesses(ranks.stream()
                .filter(view -> waits.stream().anyMatch(wait -> wait.members().contains(view.rank())))
                .toList());
        String cause = still.map(processes -> "Note that " + processes + ". ")
                .orElse("Likely causes: the ranks call different collectives (a branch that depends on the rank or its"
                        + " data, a loop of different length), only some of them call this one, or a rank is slow or"
                        + " stuck. ");
        return "collectives have waited for " + Phrases.seconds(oldest) + ": " + names + ". "
                + missing(waits, ranks, still.isPresent()) + cause + next(limit);
    }

    private static String next(Duration limit) {
        return limit.isZero()
                ? "There is no limit; the wait goes on."
                : "After " + Phrases.seconds(limit.toMillis()) + " the job is ended.";
    }

    /** @param explained whether something else says why calls that no rank is missing in do not come back */
    private static String missing(List<CollectiveWait> waits, List<RankView> ranks, boolean explained) {
        Map<Integer, List<String>> missed = new TreeMap<>();
        for (CollectiveWait wait : waits) {
            wait.missing()
                    .forEach(rank -> missed.computeIfAbsent(rank, key -> new ArrayList<>())
                            .add(wait.key().name()));
        }
        if (missed.isEmpty()) {
            return explained ? "" : "No rank is missing: all have called them, and they do not come back. ";
        }
        return missed.entrySet().stream()
                .map(entry -> "rank " + entry.getKey() + " " + names(entry.getValue())
                        + ranks.stream()
                                .filter(view -> view.rank() == entry.getKey())
                                .findFirst()
                                .map(view -> " (" + RankPosition.brief(view) + ")")
                                .orElse(""))
                .collect(Collectors.joining(", ", "Missing: ", ". "));
    }

    private static String names(List<String> names) {
        List<String> distinct = names.stream().distinct().toList();
        String first = distinct.stream().limit(MOST_NAMES).collect(Collectors.joining(", "));
        return "[" + first + (distinct.size() > MOST_NAMES ? ", ...]" : "]");
    }
}
