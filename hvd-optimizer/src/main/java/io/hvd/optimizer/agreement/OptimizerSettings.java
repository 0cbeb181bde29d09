package io.hvd.optimizer.agreement;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Optimizer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Encodes {@link Optimizer#settings} for other ranks, and words the differences between theirs. */
final class OptimizerSettings {
    private static final int MOST_DIFFERENCES = 4;
    private static final String KIND = "optimizer";
    private static final String ABSENT = "absent";
    private static final String OTHER_OPTIMIZER =
            ". Give every rank the same optimizer, or build it with settingsMayDiffer()";
    private static final String OTHER_SCOPE =
            ". A rank numbers its optimizers in the order in which it builds them: build them in one order on all ranks, and"
                    + " none on some ranks only, or give each a name of its own by scope(...). These gradients cannot be"
                    + " sent again";

    /** The beginning of the name of a setting of the exchange; that of the optimizer itself has none. */
    private static final String OF_EXCHANGE = " ";

    private OptimizerSettings() {}

    /** Marks settings as those by which the ranks exchange gradients. */
    static Map<String, String> ofExchange(Map<String, String> settings) {
        Map<String, String> marked = new TreeMap<>();
        settings.forEach((name, value) -> marked.put(OF_EXCHANGE + name, value));
        return marked;
    }

    /** Whether the ranks might wait for each other for ever; the answer is the same on all ranks. */
    static boolean differInExchange(Map<Integer, Map<String, String>> byRank) {
        return byRank.values().stream()
                .flatMap(settings -> settings.keySet().stream())
                .anyMatch(name -> name.startsWith(OF_EXCHANGE) && differIn(name, byRank));
    }

    static byte[] encode(Map<String, String> settings) {
        return new TreeMap<>(settings)
                .entrySet().stream()
                        .map(entry -> oneLine(entry.getKey()) + '\t' + oneLine(entry.getValue()) + '\n')
                        .collect(Collectors.joining())
                        .getBytes(StandardCharsets.UTF_8);
    }

    private static String oneLine(String text) {
        return text.replaceAll("\\s+", " ");
    }

    static Map<String, String> decode(byte[] text) {
        Map<String, String> settings = new TreeMap<>();
        new String(text, StandardCharsets.UTF_8)
                .lines()
                .map(line -> line.split("\t", 2))
                .forEach(pair -> settings.put(pair[0], pair[1]));
        return settings;
    }

    private static boolean differIn(String name, Map<Integer, Map<String, String>> byRank) {
        return ranksByValue(name, byRank).size() > 1;
    }

    static HvdException differing(Map<Integer, Map<String, String>> byRank) {
        List<String> differences = differences(byRank);
        int more = differences.size() - MOST_DIFFERENCES;
        return new HvdException(
                ErrorId.DIVERGED,
                "before the first step the ranks' optimizers differ, and no parameter has been changed: "
                        + differences.stream().limit(MOST_DIFFERENCES).collect(Collectors.joining("; "))
                        + (more > 0 ? "; and " + more + " more" : "")
                        + (differIn(OF_EXCHANGE + OptimizerScope.SETTING, byRank) ? OTHER_SCOPE : OTHER_OPTIMIZER));
    }

    /** The kind comes first; if it differs, the options that only one kind has say nothing new. */
    private static List<String> differences(Map<Integer, Map<String, String>> byRank) {
        Set<String> names = new LinkedHashSet<>(Set.of(KIND));
        byRank.values().forEach(settings -> names.addAll(settings.keySet()));
        List<String> differences = new ArrayList<>();
        for (String name : names) {
            Map<String, TreeSet<Integer>> ranks = ranksByValue(name, byRank);
            boolean isNews = differences.isEmpty() || !haveSeveralKinds(byRank) || !ranks.containsKey(ABSENT);
            if (ranks.size() > 1 && isNews) {
                differences.add("\"" + name.strip() + "\" is " + words(ranks));
            }
        }
        return differences;
    }

    private static boolean haveSeveralKinds(Map<Integer, Map<String, String>> byRank) {
        return ranksByValue(KIND, byRank).size() > 1;
    }

    private static Map<String, TreeSet<Integer>> ranksByValue(String name, Map<Integer, Map<String, String>> byRank) {
        Map<String, TreeSet<Integer>> ranks = new TreeMap<>();
        byRank.forEach(
                (rank, settings) -> ranks.computeIfAbsent(settings.getOrDefault(name, ABSENT), value -> new TreeSet<>())
                        .add(rank));
        return ranks;
    }

    private static String words(Map<String, TreeSet<Integer>> ranksByValue) {
        return ranksByValue.entrySet().stream()
                .map(entry -> entry.getKey() + " on ranks " + entry.getValue())
                .collect(Collectors.joining(" and "));
    }
}
