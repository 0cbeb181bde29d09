package io.hvd.report;

import io.hvd.config.Setting;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** Compares where, with what and how runs were trained. */
record Differences(List<RunFolder> runs) {
    static final String NONE = "–";
    /** Each run has these of its own, whatever is compared. */
    private static final Set<String> OF_EACH_RUN = Set.of("command", Setting.FAILURE_DIR.variable());

    /** Everything that is known, or only what is not the same in all runs. A row is a name, and then a value of each run. */
    List<List<String>> rows(boolean onlyDifferent) {
        List<Map<String, String>> facts =
                runs.stream().map(run -> facts(run.card())).toList();
        Set<String> names = new LinkedHashSet<>();
        facts.forEach(one -> names.addAll(one.keySet()));
        List<List<String>> rows = new ArrayList<>();
        for (String name : names) {
            List<String> values =
                    facts.stream().map(one -> one.getOrDefault(name, NONE)).toList();
            if (!onlyDifferent
                    || !OF_EACH_RUN.contains(name) && Set.copyOf(values).size() > 1) {
                List<String> row = new ArrayList<>(List.of(name));
                row.addAll(values);
                rows.add(row);
            }
        }
        return rows;
    }

    List<String> columns() {
        List<String> columns = new ArrayList<>(List.of(""));
        runs.forEach(run -> columns.add(run.name()));
        return columns;
    }

    private static Map<String, String> facts(Card card) {
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("program", card.program());
        facts.put("ranks", String.valueOf(card.ranks().size()));
        facts.put("hosts", String.join(", ", distinct(card.ranks(), Card.Rank::host)));
        facts.put("devices", String.join(", ", distinct(card.ranks(), Card.Rank::device)));
        card.parameters().forEach((name, value) -> facts.put("--" + name, value));
        card.settings()
                .forEach(one -> facts.put(
                        one.name(),
                        one.value() + ("environment".equals(one.source()) ? "" : " (" + one.source() + ")")));
        card.versions().forEach((name, value) -> facts.put("version: " + name, value));
        facts.put("command", String.valueOf(card.command()));
        return facts;
    }

    private static Set<String> distinct(List<Card.Rank> ranks, Function<Card.Rank, String> fact) {
        Set<String> distinct = new LinkedHashSet<>();
        ranks.forEach(rank -> distinct.add(String.valueOf(fact.apply(rank))));
        return distinct;
    }
}
