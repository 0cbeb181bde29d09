package io.hvd.benchmarks;

import java.util.List;
import java.util.Map;

/**
 * Says how much to measure.
 *
 * @param sizes sizes in bytes; some benchmarks count something else, as their help says
 * @param rounds number of timings in one launch
 * @param repeat number of launches of each kind, which take turns
 * @param only part of the names to measure; empty for everything
 * @param launcher program that starts ranks, for benchmarks of the start and benchmarks on several hosts
 * @param own values of the flags that only this benchmark has, by name
 */
record MeasurementPlan(
        List<Integer> ranks,
        List<Long> sizes,
        int rounds,
        int repeat,
        String only,
        String launcher,
        Map<String, String> own) {
    MeasurementPlan(List<Integer> ranks, List<Long> sizes, int rounds, int repeat) {
        this(ranks, sizes, rounds, repeat, "", "horovodrun", Map.of());
    }

    MeasurementPlan {
        ranks = List.copyOf(ranks);
        sizes = List.copyOf(sizes);
        own = Map.copyOf(own);
    }

    boolean wants(String name) {
        return name.contains(only);
    }

    String sizesInWords() {
        return String.join(",", sizes.stream().map(String::valueOf).toList());
    }
}
