package io.hvd.optimizer;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/**
 * Compares the settings of the ranks' optimizers once, before the first step changes a parameter. Two numbers per rank
 * travel, and the words only if the numbers differ.
 *
 * <p>Each rank adds its numbers to zeros in a place of its own. An allgather would do the same, but it is refused where
 * a rank has joined; in a sum, such a rank leaves its place empty.
 */
final class SettingsCheck {
    private static final int NUMBERS = 2;
    private static final int MOST_DIFFERENCES = 4;
    private static final String ABSENT = "absent";

    private final ProcessSet set;
    private final String scope;
    /** Those before the optimizer was made. */
    private final int joins;

    private boolean done;

    /** @param scope keeps the checks of several optimizers apart */
    SettingsCheck(ProcessSet set, String scope) {
        this.set = set;
        this.scope = scope;
        this.joins = set.joins();
    }

    /** From here on nothing is compared. */
    void skip() {
        done = true;
    }

    /**
     * Every rank comes here in every step. If a join has ended before this rank's first step, the other ranks may have
     * compared without this one, and nothing is compared any more.
     *
     * @throws HvdException on all ranks, if settings differ
     */
    void step(Optimizer optimizer) {
        if (!done) {
            if (set.included() && set.size() > 1 && set.joins() == joins) {
                requireSame(optimizer.settings());
            }
            done = true;
        }
    }

    private void requireSame(Map<String, String> settings) {
        byte[] mine = encode(settings);
        long[] numbers = sum("numbers", NUMBERS * set.size(), NUMBERS * set.rank(), hash(mine), mine.length);
        if (!allEqual(numbers)) {
            throw differing(texts(mine, numbers));
        }
    }

    private static boolean allEqual(long[] numbers) {
        long[] hashes = new long[numbers.length / NUMBERS];
        for (int place = 0; place < hashes.length; place++) {
            hashes[place] = numbers[NUMBERS * place];
        }
        return Arrays.stream(hashes).filter(hash -> hash != 0).distinct().count() <= 1;
    }

    /** The settings of all ranks that have not joined, by global rank. */
    private Map<Integer, Map<String, String>> texts(byte[] mine, long[] numbers) {
        int[] begins = new int[set.size() + 1];
        for (int place = 0; place < set.size(); place++) {
            begins[place + 1] = begins[place] + Math.toIntExact(numbers[NUMBERS * place + 1]);
        }
        byte[] all = new byte[begins[set.size()]];
        System.arraycopy(mine, 0, all, begins[set.rank()], mine.length);
        set.allreduceInPlace(scope + "optimizer.settings.words", Tensor.ofBytes(all), AllreduceOptions.sum());
        Map<Integer, Map<String, String>> texts = new TreeMap<>();
        for (int place = 0; place < set.size(); place++) {
            int length = begins[place + 1] - begins[place];
            if (length > 0) {
                texts.put(
                        set.ranks().get(place), decode(new String(all, begins[place], length, StandardCharsets.UTF_8)));
            }
        }
        return texts;
    }

    private long[] sum(String what, int size, int from, long... mine) {
        long[] all = new long[size];
        System.arraycopy(mine, 0, all, from, mine.length);
        set.allreduceInPlace(scope + "optimizer.settings." + what, Tensor.of(all), AllreduceOptions.sum());
        return all;
    }

    private static byte[] encode(Map<String, String> settings) {
        return new TreeMap<>(settings)
                .entrySet().stream()
                        .map(entry -> oneLine(entry.getKey()) + '\t' + oneLine(entry.getValue()) + '\n')
                        .collect(Collectors.joining())
                        .getBytes(StandardCharsets.UTF_8);
    }

    private static String oneLine(String text) {
        return text.replaceAll("\\s+", " ");
    }

    private static Map<String, String> decode(String text) {
        Map<String, String> settings = new TreeMap<>();
        text.lines().map(line -> line.split("\t", 2)).forEach(pair -> settings.put(pair[0], pair[1]));
        return settings;
    }

    /** Never 0, which stands for a rank that has joined. */
    private static long hash(byte[] text) {
        CRC32C high = new CRC32C();
        CRC32 low = new CRC32();
        high.update(text);
        low.update(text);
        long hash = high.getValue() << 32 | low.getValue();
        return hash == 0 ? 1 : hash;
    }

    private static HvdException differing(Map<Integer, Map<String, String>> byRank) {
        TreeSet<String> names = new TreeSet<>();
        byRank.values().forEach(settings -> names.addAll(settings.keySet()));
        List<String> differences = new ArrayList<>();
        for (String name : names) {
            Map<String, TreeSet<Integer>> ranks = new TreeMap<>();
            byRank.forEach((rank, settings) -> ranks.computeIfAbsent(
                            settings.getOrDefault(name, ABSENT), value -> new TreeSet<>())
                    .add(rank));
            if (ranks.size() > 1) {
                differences.add("\"" + name + "\" is " + words(ranks));
            }
        }
        return new HvdException(
                ErrorId.DIVERGED,
                "before the first step the ranks' optimizers differ, and no parameter has been changed: "
                        + differences.stream().limit(MOST_DIFFERENCES).collect(Collectors.joining("; "))
                        + (differences.size() > MOST_DIFFERENCES
                                ? "; and " + (differences.size() - MOST_DIFFERENCES) + " more"
                                : "")
                        + ". Give every rank the same optimizer, or build() with settingsMayDiffer()");
    }

    private static String words(Map<String, TreeSet<Integer>> ranksByValue) {
        return ranksByValue.entrySet().stream()
                .map(entry -> entry.getKey() + " on ranks " + entry.getValue())
                .collect(Collectors.joining(" and "));
    }
}
