package io.hvd.launch;

import io.hvd.error.FailureRecord;
import java.time.Duration;
import java.util.List;

/** The last words of a failed job: what failed first, and what only followed from it. */
final class FailureReport {

    private static final int SIGNAL_BASE = 128;
    private static final int SIGKILL = 9;

    private FailureReport() {}

    /**
     * @param records causes first, as {@link FailureRecord#readAll} gives them
     * @param exitCode of mpirun, not 0
     */
    static String of(List<FailureRecord> records, int exitCode) {
        if (records.isEmpty()) {
            return "horovodrun: exit code " + exitCode + meaning(exitCode) + "; no rank left a record of its failure\n";
        }
        FailureRecord first = records.get(0);
        var text = new StringBuilder("\nhorovodrun: ")
                .append(first.consequence() ? "no rank left the cause itself; noticed first by " : "first failure: ")
                .append(where(first))
                .append(", pid ")
                .append(first.pid())
                .append(", thread ")
                .append(first.thread())
                .append(", at ")
                .append(first.time())
                .append("\n  ")
                .append(first.reason())
                .append('\n');
        first.stack().lines().forEach(line -> text.append("    ").append(line).append('\n'));
        records.stream().skip(1).forEach(other -> text.append(follower(first, other)));
        return text.append("horovodrun: exit code ")
                .append(exitCode)
                .append(meaning(exitCode))
                .append('\n')
                .toString();
    }

    private static String follower(FailureRecord first, FailureRecord other) {
        double seconds = Duration.between(first.time(), other.time()).toMillis() / 1000.0;
        String kind = other.consequence() ? "consequence" : "also failed";
        return String.format("  %s: %s, %+.2f s: %s%n", kind, where(other), seconds, other.reason());
    }

    private static String where(FailureRecord record) {
        String rank = record.rank() < 0 ? "a rank not yet numbered" : "rank " + record.rank();
        return rank + " on " + record.host();
    }

    private static String meaning(int exitCode) {
        int signal = exitCode - SIGNAL_BASE;
        if (signal == SIGKILL) {
            return " (a rank was killed by signal 9: by someone, or by the kernel for want of memory)";
        }
        return signal > 0 && signal < 64 ? " (a rank was ended by signal " + signal + ")" : "";
    }
}
