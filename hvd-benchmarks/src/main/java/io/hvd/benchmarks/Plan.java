package io.hvd.benchmarks;

import java.util.List;

/**
 * How much to measure.
 *
 * @param sizes bytes; what is counted where it is not bytes, the benchmark says
 * @param rounds timings of one launch
 * @param repeat launches of each kind, in turn
 * @param only part of the name of what is to be measured; empty for everything
 * @param launcher program that starts ranks, where that is what is measured, and on other hosts
 * @param hosts where the network is what is measured, with the ranks of each, such as {@code a:1,b:1}
 */
record Plan(List<Integer> ranks, List<Long> sizes, int rounds, int repeat, String only, String launcher, String hosts) {
    Plan(List<Integer> ranks, List<Long> sizes, int rounds, int repeat) {
        this(ranks, sizes, rounds, repeat, "", "horovodrun", "localhost:2");
    }

    Plan {
        ranks = List.copyOf(ranks);
        sizes = List.copyOf(sizes);
    }

    boolean wants(String name) {
        return name.contains(only);
    }

    String sizesInWords() {
        return String.join(",", sizes.stream().map(String::valueOf).toList());
    }
}
