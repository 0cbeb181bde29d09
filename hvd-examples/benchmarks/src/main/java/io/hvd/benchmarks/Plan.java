package io.hvd.benchmarks;

import java.util.List;
import java.util.Map;

/**
 * How much to measure.
 *
 * @param sizes bytes; what is counted where it is not bytes, the benchmark says
 * @param rounds timings of one launch
 * @param repeat launches of each kind, in turn
 * @param only part of the name of what is to be measured; empty for everything
 * @param launcher program that starts ranks, where that is what is measured, or where they are on several hosts
 * @param own what was given of the flags that this benchmark alone has, by name
 */
record Plan(
        List<Integer> ranks,
        List<Long> sizes,
        int rounds,
        int repeat,
        String only,
        String launcher,
        Map<String, String> own) {
    Plan(List<Integer> ranks, List<Long> sizes, int rounds, int repeat) {
        this(ranks, sizes, rounds, repeat, "", "horovodrun", Map.of());
    }

    Plan {
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
