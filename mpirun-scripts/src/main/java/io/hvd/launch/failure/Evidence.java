package io.hvd.launch.failure;

import java.util.List;

/**
 * What the launcher finds out about a process that has ended without a record of hvd's.
 *
 * @param lastLines what ranks have printed last to standard error
 * @param whose of which rank these lines are, in words that follow "standard error of "
 * @param crash about the file that a crashed JVM has left; empty if there is none
 * @param killer who kills by signal 9, in words; empty if nobody knows
 */
public record Evidence(List<String> lastLines, String whose, List<String> crash, String killer) {

    static final Evidence NONE = new Evidence(List.of(), "", List.of(), "");

    /** Lines for the screen. */
    String text() {
        var text = new StringBuilder();
        crash.forEach(line -> text.append("  ").append(line).append('\n'));
        if (!lastLines.isEmpty()) {
            text.append("  the last lines on the standard error of ")
                    .append(whose)
                    .append(":\n");
            lastLines.forEach(line -> text.append("    ").append(line).append('\n'));
        }
        return text.toString();
    }
}
