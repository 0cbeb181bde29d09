package io.hvd.benchmarks;

import java.util.List;
import java.util.Optional;

/**
 * One figure of a benchmark, and what it is to be.
 *
 * @param words what is aimed at, for the table
 * @param bench the benchmark's name in results
 * @param opponent part of the opponent's name that tells it from the others
 * @param bytes the size, or 0 for any
 * @param figure which figure of the result counts
 * @param bound the most of a time in milliseconds, or the least of a ratio
 */
record Aim(String words, String bench, int ranks, long bytes, String opponent, Figure figure, double bound) {
    /** The number of a result that counts. */
    enum Figure {
        /** hvd's time in milliseconds. */
        MILLIS,
        /** The opponent's time divided by hvd's, of neighbouring turns where there are such. */
        RATIO
    }

    static Aim millis(String words, String bench, int ranks, double most) {
        return new Aim(words, bench, ranks, 0, "", Figure.MILLIS, most);
    }

    static Aim ratio(String words, String bench, int ranks, long bytes, String opponent, double least) {
        return new Aim(words, bench, ranks, bytes, opponent, Figure.RATIO, least);
    }

    /** The outcome of the last fitting result; empty if the aim was not measured. */
    Optional<Outcome> outcome(List<Result> results) {
        return results.stream()
                .filter(this::fits)
                .reduce((before, last) -> last)
                .map(this::outcome);
    }

    private boolean fits(Result result) {
        return result.bench().equals(bench)
                && result.ranks() == ranks
                && (bytes == 0 || result.bytes() == bytes)
                && result.opponent().contains(opponent);
    }

    private Outcome outcome(Result result) {
        String others = result.more().getOrDefault(Result.OTHERS, "?");
        if (figure == Figure.MILLIS) {
            double millis = result.oursMicros() / 1e3;
            return new Outcome(Result.number(millis) + " ms", best(result), millis <= bound, others);
        }
        String pairs = result.more().get(Result.PAIRS);
        double ratio = pairs == null ? result.ratio() : Double.parseDouble(pairs);
        return new Outcome(Result.number(ratio), pairs == null ? "" : interval(result), ratio >= bound, others);
    }

    private static String best(Result result) {
        String micros = result.more().get(Result.OURS_MIN);
        return micros == null ? "" : "best " + Result.number(Double.parseDouble(micros) / 1e3);
    }

    private static String interval(Result result) {
        return "90 %: " + result.more().get(Result.PAIRS + "_5") + " to "
                + result.more().get(Result.PAIRS + "_95");
    }

    String boundInWords() {
        return figure == Figure.MILLIS ? "<= " + plain(bound) + " ms" : ">= " + plain(bound);
    }

    private static String plain(double number) {
        return Double.toString(number).replaceFirst("\\.0$", "");
    }

    /**
     * @param found the figure
     * @param range how far it may be trusted
     * @param othersPercent what other programs had of the processors meanwhile
     */
    record Outcome(String found, String range, boolean met, String othersPercent) {}
}
