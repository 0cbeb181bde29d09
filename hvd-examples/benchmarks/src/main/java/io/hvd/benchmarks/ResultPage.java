package io.hvd.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Makes the page of results from the output of the benchmarks: machine, commands, a table and a plot for each. */
final class ResultPage {
    static final String BEGIN = "<!-- written by mpirun-scripts/bench-report.sh -->";
    static final String END = "<!-- end of what bench-report.sh writes -->";
    /** The prefix of the names of benchmarks of inner loops. */
    static final String KERNEL = "kernel-";

    private static final String HEAD =
            "| | ranks | bytes | hvd, us (best) | opponent | us (best) | ratio | pairs (90 %) | more |\n"
                    + "|---|---|---|---|---|---|---|---|---|\n";
    private static final String OPPONENT_MIN = "opponent_min_us";
    private static final String ROUNDS = "rounds";
    /** The ending of the names of bandwidths, which follow from bytes and time and so have no cell. */
    private static final String BANDWIDTH = "_gbs";

    private final List<String> lines;
    private final Map<String, List<Result>> byBench = new LinkedHashMap<>();

    /** @throws IOException if the file has no line with a result */
    ResultPage(Path results) throws IOException {
        lines = Files.readAllLines(results);
        lines.stream()
                .map(Result::parse)
                .flatMap(Optional::stream)
                .forEach(result -> byBench.computeIfAbsent(group(result), group -> new ArrayList<>())
                        .add(result));
        if (byBench.isEmpty()) {
            throw new IOException("none of the " + lines.size() + " lines of " + results
                    + " begins with RESULT; keep the output of the scripts: bench-allreduce.sh | tee -a " + results);
        }
    }

    /** The name of a result's plot: one for all kernels, because there are too many for a plot of each. */
    private static String group(Result result) {
        return result.bench().startsWith(KERNEL) ? "kernels" : result.bench();
    }

    /** Writes the tables between the two marks of the page, and the plots into the folder {@code img} beside it. */
    void writeInto(Path page) throws IOException {
        String text = Files.readString(page);
        int begin = text.indexOf(BEGIN);
        int end = text.indexOf(END);
        if (begin < 0 || end < begin) {
            throw new IOException(page + " has no room for tables: expected the lines " + BEGIN + " and " + END);
        }
        Path images = page.toAbsolutePath().getParent().resolve("img");
        Files.createDirectories(images);
        String tables = text(images);
        Files.writeString(page, text.substring(0, begin + BEGIN.length()) + "\n" + tables + text.substring(end));
    }

    private String text(Path images) throws IOException {
        StringBuilder text = new StringBuilder(machines());
        for (Map.Entry<String, List<Result>> bench : byBench.entrySet()) {
            text.append("\n### ").append(bench.getKey()).append('\n');
            for (String image : new Plot(bench.getKey(), bench.getValue()).save(images)) {
                text.append("![")
                        .append(bench.getKey())
                        .append("](img/")
                        .append(image)
                        .append(")\n\n");
            }
            text.append(HEAD);
            bench.getValue().stream().filter(this::isShown).forEach(result -> text.append(row(result)));
        }
        return text.toString();
    }

    /** Text that names each machine once, with the commands that ran there. */
    private String machines() {
        StringBuilder text = new StringBuilder();
        String before = "";
        for (String line : lines) {
            if (line.startsWith("MACHINE ")) {
                String machine = line.substring("MACHINE ".length());
                // The load is left out, because it differs from one benchmark to the next.
                String lasting = machine.replaceFirst(" load=\\S+", "");
                text.append(
                        lasting.equals(before)
                                ? ""
                                : "\nOn " + lasting.replace(' ', ',').replace(",", ", ") + ":\n\n");
                before = lasting;
            } else if (line.startsWith("COMMAND ")) {
                text.append("- `").append(line.substring("COMMAND ".length())).append("`\n");
            }
        }
        return text.toString();
    }

    /** True if a result has a row: settings that are neither the best nor the default one are in the plot only. */
    private boolean isShown(Result result) {
        boolean hasBest = byBench.get(group(result)).stream()
                .anyMatch(each -> each.opponent().contains("[best:"));
        boolean oneSetting = result.opponent().startsWith("mpi.jar")
                && !result.opponent().contains("[best:")
                && !result.opponent().endsWith("[default]");
        return !(hasBest && oneSetting);
    }

    private static String row(Result result) {
        Map<String, String> more = new LinkedHashMap<>(result.more());
        String ours = withBest(result.oursMicros(), more.remove(Result.OURS_MIN));
        String theirs = withBest(result.opponentMicros(), more.remove(OPPONENT_MIN));
        String pairs = pairs(more);
        more.remove(ROUNDS);
        String rest = more.entrySet().stream()
                .filter(field -> !field.getKey().endsWith(BANDWIDTH))
                .map(field -> field.getKey() + " " + field.getValue())
                .collect(Collectors.joining(", "));
        return "| " + result.bench() + " | " + result.ranks() + " | " + result.bytes() + " | " + ours + " | `"
                + result.opponent() + "` | " + theirs + " | **" + Result.number(result.ratio()) + "** | " + pairs
                + " | " + rest + " |\n";
    }

    /** The median of neighbouring turns and the range of nine in ten of them; empty where the two took no turns. */
    private static String pairs(Map<String, String> more) {
        String median = more.remove(Result.PAIRS);
        String low = more.remove(Result.PAIRS + "_5");
        String high = more.remove(Result.PAIRS + "_95");
        return median == null ? "" : median + " (" + low + " to " + high + ")";
    }

    private static String withBest(double median, String best) {
        return Result.number(median) + (best == null ? "" : " (" + best + ")");
    }
}
