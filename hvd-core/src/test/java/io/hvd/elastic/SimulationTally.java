package io.hvd.elastic;

import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** How often things have happened in simulated jobs. */
final class SimulationTally {
    private final Map<String, Long> counts = new TreeMap<>();

    void count(String what) {
        counts.merge(what, 1L, Long::sum);
    }

    long of(String what) {
        return counts.getOrDefault(what, 0L);
    }

    @Override
    public String toString() {
        return counts.entrySet().stream()
                .map(entry -> entry.getValue() + " " + entry.getKey())
                .collect(Collectors.joining(", "));
    }
}
