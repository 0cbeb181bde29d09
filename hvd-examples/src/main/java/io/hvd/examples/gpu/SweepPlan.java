package io.hvd.examples.gpu;

import io.hvd.examples.Flags;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The measurements: which collectives, from which size to which, and how often each is called.
 *
 * @param firstBytes the smallest size, of the largest buffer of a rank
 * @param lastBytes the largest size
 * @param factor how many times larger each size is than the one before
 * @param warmUps the calls of each size before the first that counts
 * @param calls calls of each size whose time counts
 */
record SweepPlan(
        List<SweepCollective> collectives, long firstBytes, long lastBytes, int factor, int warmUps, int calls) {
    static final String COLLECTIVES = "collectives";
    private static final String BEGIN = "begin";
    private static final String END = "end";
    private static final String FACTOR = "factor";
    private static final String WARM_UPS = "warm-ups";
    private static final String CALLS = "calls";
    private static final Pattern SIZE = Pattern.compile("(\\d{1,12})([KMG]?)");
    private static final long MOST_BYTES = 1 << 30;

    /** The sizes and numbers of calls with which results of nccl-tests are usually published. */
    private static final SweepPlan FULL = new SweepPlan(List.of(SweepCollective.values()), 8, 128 << 20, 2, 5, 20);

    private static final long QUICK_LAST_BYTES = 64 << 10;

    static void addTo(Options flags) {
        flags.addOption(Flags.valued(COLLECTIVES, "G7: only these, such as allreduce,alltoall"))
                .addOption(Flags.valued(BEGIN, "G7, G9: smallest size in bytes, such as 8, 4K or 1M (8)"))
                .addOption(Flags.valued(END, "G7, G9: largest size in bytes (128M)"))
                .addOption(Flags.valued(FACTOR, "G7, G9: factor from one size to the next (2)"))
                .addOption(Flags.valued(WARM_UPS, "G7, G9: calls of each size before those that count (5)"))
                .addOption(Flags.valued(CALLS, "G7, G9: calls of each size that count (20)"));
    }

    /** Reads the flags. @param quick whether the largest size is small unless a flag says otherwise */
    static SweepPlan of(CommandLine line, boolean quick) throws ParseException {
        long first = bytes(line, BEGIN, FULL.firstBytes);
        long last = bytes(line, END, Math.max(first, quick ? QUICK_LAST_BYTES : FULL.lastBytes));
        if (last < first) {
            throw new ParseException("--" + END + " is " + last + ", expected at least --" + BEGIN + ", " + first);
        }
        return new SweepPlan(
                collectives(line),
                first,
                last,
                Flags.count(line, FACTOR, FULL.factor, 2),
                Flags.count(line, WARM_UPS, FULL.warmUps, 0),
                Flags.count(line, CALLS, FULL.calls, 1));
    }

    List<Long> sizes() {
        List<Long> sizes = new ArrayList<>();
        for (long bytes = firstBytes; bytes <= lastBytes; bytes *= factor) {
            sizes.add(bytes);
        }
        return sizes;
    }

    private static List<SweepCollective> collectives(CommandLine line) throws ParseException {
        String names = line.getOptionValue(COLLECTIVES);
        if (names == null) {
            return FULL.collectives;
        }
        List<SweepCollective> chosen = new ArrayList<>();
        for (String name : names.split(",")) {
            chosen.add(FULL.collectives.stream()
                    .filter(each -> each.word().equals(name))
                    .findFirst()
                    .orElseThrow(() -> new ParseException("--" + COLLECTIVES + " is \"" + names
                            + "\", expected some of "
                            + FULL.collectives.stream()
                                    .map(SweepCollective::word)
                                    .toList())));
        }
        return chosen;
    }

    private static long bytes(CommandLine line, String name, long otherwise) throws ParseException {
        String value = line.getOptionValue(name);
        if (value == null) {
            return otherwise;
        }
        Matcher size = SIZE.matcher(value.toUpperCase(Locale.ROOT));
        if (size.matches()) {
            long bytes = Long.parseLong(size.group(1)) << 10 * " KMG".indexOf((size.group(2) + " ").charAt(0));
            if (bytes >= Float.BYTES && bytes <= MOST_BYTES) {
                return bytes;
            }
        }
        throw new ParseException("--" + name + " is \"" + value + "\", expected bytes from " + Float.BYTES
                + " to 1G, such as 8, 4K or 1M");
    }
}
