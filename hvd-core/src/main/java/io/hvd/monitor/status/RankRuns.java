package io.hvd.monitor.status;

import java.util.List;

/** Ranks as a short text for hvd-top, such as {@code 0-3,7}. */
final class RankRuns {
    private RankRuns() {}

    /** @param ranks in rising order */
    static String text(List<Integer> ranks) {
        StringBuilder text = new StringBuilder();
        for (int from = 0; from < ranks.size(); ) {
            int to = from;
            while (to + 1 < ranks.size() && ranks.get(to + 1) == ranks.get(to) + 1) {
                to++;
            }
            text.append(from == 0 ? "" : ",").append(ranks.get(from));
            if (to > from) {
                text.append('-').append(ranks.get(to));
            }
            from = to + 1;
        }
        return text.toString();
    }
}
