package io.hvd.monitor.hang;

import java.util.List;
import java.util.function.Predicate;

/**
 * The answer of NCCL's RAS about the job.
 *
 * @param address the place that was asked
 * @param lines without those that are empty; none if nothing has answered
 * @param isWhole false if it was cut off by a limit
 */
public record RasAnswer(String address, List<String> lines, boolean isWhole) {
    static final RasAnswer NONE = new RasAnswer("", List.of(), true);
    private static final int MOST_QUOTED = 12;
    private static final int MOST_FINDINGS = 3;

    public RasAnswer {
        lines = List.copyOf(lines);
    }

    boolean isEmpty() {
        return lines.isEmpty();
    }

    /** The errors and warnings in it, in one line; empty if there are none. */
    String findings() {
        List<String> found = from(RasAnswer::beginsFindings).stream()
                .filter(line -> !beginsFindings(line))
                .toList();
        String more = found.size() > MOST_FINDINGS ? "; ..." : "";
        return String.join("; ", found.subList(0, Math.min(MOST_FINDINGS, found.size()))) + more;
    }

    /** The lines that tell most: the errors and warnings, otherwise the table of communicators, otherwise the first ones. */
    List<String> quoted() {
        List<String> best = from(RasAnswer::beginsFindings);
        if (best.isEmpty()) {
            best = from(line -> line.startsWith("Communicators"));
        }
        if (best.isEmpty()) {
            best = lines;
        }
        return best.subList(0, Math.min(MOST_QUOTED, best.size()));
    }

    private List<String> from(Predicate<String> first) {
        return lines.stream().dropWhile(first.negate()).map(String::strip).toList();
    }

    private static boolean beginsFindings(String line) {
        return line.strip().equals("Errors") || line.strip().equals("Warnings");
    }
}
