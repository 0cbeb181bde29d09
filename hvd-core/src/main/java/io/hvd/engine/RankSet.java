package io.hvd.engine;

import java.util.Collection;
import java.util.stream.Collectors;

/** Writes sets of ranks for messages. */
final class RankSet {
    private RankSet() {}

    /** Text such as {@code {0, 2}}. */
    static String format(Collection<Integer> ranks) {
        return ranks.stream().map(String::valueOf).collect(Collectors.joining(", ", "{", "}"));
    }
}
