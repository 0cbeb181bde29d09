package io.hvd.benchmarks;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The outcome of a run.
 *
 * @param ranks in words
 * @param load the mean number of processes that wanted to run in the minute before it
 * @param fields those of its result line
 * @param failure what went wrong; empty if nothing did
 */
record ExampleRow(
        String command, String ranks, double seconds, String load, Map<String, String> fields, String failure) {
    static final String HEAD = "| example and flags | ranks | seconds | loss | accuracy | samples/s | load before |\n"
            + "|---|---|---|---|---|---|---|\n";
    private static final List<String> LOSS = List.of("loss", "test_loss");
    /** A segmentation has no accuracy. */
    private static final List<String> ACCURACY = List.of("accuracy", "dice", "mean_dice");

    private static final String RESULT = "RESULT example=";
    private static final int LAST_LINES = 15;

    /** Reads the output of a run that has ended. @param wanted the exit code of a run that went well */
    static ExampleRow of(
            String command, String ranks, double seconds, String load, int exitCode, int wanted, List<String> output) {
        Optional<String> line =
                output.stream().filter(each -> each.startsWith(RESULT)).reduce((first, second) -> second);
        Map<String, String> fields = new HashMap<>();
        line.ifPresent(found -> {
            for (String word : found.substring("RESULT ".length()).split(" ")) {
                String[] pair = word.split("=", 2);
                fields.put(pair[0], pair.length == 2 ? pair[1] : "");
            }
        });
        String failure = "";
        if (exitCode != wanted) {
            failure = "exit code " + exitCode + ", expected " + wanted;
        } else if (wanted == 0 && line.isEmpty()) {
            failure = "no line begins with " + RESULT;
        }
        int from = Math.max(0, output.size() - LAST_LINES);
        return new ExampleRow(
                command,
                ranks,
                seconds,
                load,
                fields,
                failure.isEmpty() ? "" : failure + "\n  " + String.join("\n  ", output.subList(from, output.size())));
    }

    /** A line of the table; what the example does not say is a dash. */
    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "| `%s` | %s | %.1f | %s | %s | %s | %s |%n",
                command,
                ranks,
                seconds,
                first(LOSS),
                first(ACCURACY),
                first(List.of("samples_per_second")),
                load);
    }

    private String first(List<String> keys) {
        return keys.stream()
                .filter(fields::containsKey)
                .map(fields::get)
                .findFirst()
                .orElse("-");
    }
}
