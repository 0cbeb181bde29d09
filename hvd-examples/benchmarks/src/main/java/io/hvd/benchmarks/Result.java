package io.hvd.benchmarks;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * One measurement of hvd and of an opponent, as benchmarks print it in one line.
 *
 * @param bytes number of bytes that travel, or that a kernel reads
 * @param oursMicros hvd's time, the median over the rounds
 * @param opponent the opponent's name with version and settings, in one word
 * @param opponentMicros the opponent's time, the median over the rounds
 * @param more further fields, in their order; each value is one word
 */
public record Result(
        String bench,
        int ranks,
        long bytes,
        double oursMicros,
        String opponent,
        double opponentMicros,
        Map<String, String> more) {
    static final String OURS_MIN = "ours_min_us";
    static final String PAIRS = "pair_ratio";
    static final String OTHERS = "others_percent";
    private static final String START = "RESULT ";

    public Result {
        more = new LinkedHashMap<>(more);
    }

    public Result(String bench, int ranks, long bytes, Spread ours, String opponent, Spread theirs) {
        this(bench, ranks, bytes, ours.median(), word(opponent), theirs.median(), minima(ours, theirs));
    }

    private static Map<String, String> minima(Spread ours, Spread theirs) {
        Map<String, String> more = new LinkedHashMap<>();
        more.put(OURS_MIN, number(ours.min()));
        more.put("opponent_min_us", number(theirs.min()));
        more.put("rounds", Integer.toString(ours.count()));
        return more;
    }

    /** The opponent's time divided by hvd's. */
    public double ratio() {
        return opponentMicros / oursMicros;
    }

    public Result with(String key, String value) {
        Map<String, String> longer = new LinkedHashMap<>(more);
        longer.put(key, word(value));
        return new Result(bench, ranks, bytes, oursMicros, opponent, opponentMicros, longer);
    }

    public Result with(String key, double value) {
        return with(key, number(value));
    }

    /** Adds the median of the ratios of neighbouring turns, and what nine in ten of them lie between. */
    Result withPairs(Spread ratios) {
        return with(PAIRS, ratios.median()).with(PAIRS + "_5", ratios.low()).with(PAIRS + "_95", ratios.high());
    }

    /** Adds how much the launches differ: the median of their ratios, the least and the most; nothing for a single one. */
    Result withLaunches(List<Double> ratios) {
        if (ratios.size() < 2) {
            return this;
        }
        return with("launches", Integer.toString(ratios.size()))
                .with("launch_ratio", Spread.of(ratios).median())
                .with("launch_ratio_min", Collections.min(ratios))
                .with("launch_ratio_max", Collections.max(ratios));
    }

    /** Adds the percentage of the machine's processor time that other programs had meanwhile. */
    Result withOthers(double percent) {
        return with(OTHERS, String.format(Locale.ROOT, "%.1f", percent));
    }

    public String line() {
        StringBuilder line = new StringBuilder(START)
                .append("bench=" + bench)
                .append(" ranks=" + ranks)
                .append(" bytes=" + bytes)
                .append(" ours_us=" + number(oursMicros))
                .append(" opponent=" + opponent)
                .append(" opponent_us=" + number(opponentMicros))
                .append(" ratio=" + number(ratio()));
        more.forEach((key, value) -> line.append(' ').append(key).append('=').append(value));
        return line.toString();
    }

    /**
     * Reads a line; empty if it is not a result.
     *
     * @throws IllegalArgumentException if a field is missing, or is not a number although it must be
     */
    public static Optional<Result> parse(String line) {
        if (!line.startsWith(START)) {
            return Optional.empty();
        }
        Map<String, String> fields = new LinkedHashMap<>();
        for (String field : line.substring(START.length()).strip().split(" ")) {
            int at = field.indexOf('=');
            if (at < 1) {
                throw new IllegalArgumentException("\"" + field + "\" is not of the form key=value in: " + line);
            }
            fields.put(field.substring(0, at), field.substring(at + 1));
        }
        String bench = take(fields, "bench", line);
        int ranks = (int) asNumber(fields, "ranks", line);
        long bytes = (long) asNumber(fields, "bytes", line);
        double ours = asNumber(fields, "ours_us", line);
        String opponent = take(fields, "opponent", line);
        double theirs = asNumber(fields, "opponent_us", line);
        asNumber(fields, "ratio", line);
        return Optional.of(new Result(bench, ranks, bytes, ours, opponent, theirs, fields));
    }

    private static String take(Map<String, String> fields, String key, String line) {
        String value = fields.remove(key);
        if (value == null) {
            throw new IllegalArgumentException("there is no " + key + "= in: " + line);
        }
        return value;
    }

    private static double asNumber(Map<String, String> fields, String key, String line) {
        String value = take(fields, key, line);
        try {
            return Double.parseDouble(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(key + "=" + value + " is not a number in: " + line, e);
        }
    }

    /** Writes a number with four significant digits and without an exponent. */
    static String number(double value) {
        int decimals = (int) Math.max(0, 3 - Math.floor(Math.log10(Math.max(Math.abs(value), 1e-3))));
        return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }

    static String word(String text) {
        return text.strip().replaceAll("\\s+", "_");
    }
}
