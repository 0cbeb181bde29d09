package io.hvd.launch.failure;

import io.hvd.error.FailureRecord;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The last words of a failed job, on one screen: what failed first, and what only followed from it.
 *
 * @param records causes first, as {@link FailureRecord#readAll} gives them
 * @param seen what mpirun saw failing first, if it said so
 * @param mpirunCode exit code of mpirun, not 0
 * @param evidence what else is known of a process that has left no record
 */
public record JobFailureReport(
        List<FailureRecord> records, Optional<ObservedFailure> seen, int mpirunCode, Evidence evidence) {

    private static final int MOST_STACK_LINES = 25;
    private static final int MOST_FOLLOWERS = 12;
    private static final int SIGKILL = 9;

    JobFailureReport(List<FailureRecord> records, Optional<ObservedFailure> seen, int mpirunCode) {
        this(records, seen, mpirunCode, Evidence.NONE);
    }

    /**
     * Loads the classes that a report needs, in a job that has gone well. Where this JVM lists its classes for an archive, the
     * report of a later job that fails is there the sooner: most of its time is that of classes that nothing has used before.
     */
    public static void rehearse() {
        var record = new FailureRecord(Instant.now(), 0, "host", 1, "main", "it is rehearsed", "", true, 1);
        CrashFile.find(new CrashFile.Places(Path.of(""), List.of(), Instant.now()), "");
        new JobFailureReport(
                        FailureRecord.decode(record.encode()).stream().toList(),
                        Optional.of(new ObservedFailure(1, "host", ObservedFailure.SIGNAL_BASE + SIGKILL, "rank 1")),
                        1)
                .text();
    }

    /** The exit code of the first failure if it is known, otherwise mpirun's. */
    public int exitCode() {
        int code = cause().map(this::codeOf)
                .orElseGet(() -> unrecorded().map(ObservedFailure::exitCode).orElse(mpirunCode));
        return code > 0 ? code : mpirunCode;
    }

    private int codeOf(FailureRecord first) {
        if (first.exitCode() > 0) {
            return first.exitCode();
        }
        return seen.filter(process -> process.rank() == first.rank())
                .map(ObservedFailure::exitCode)
                .filter(code -> code > 0)
                .orElse(first.exitCode() == FailureRecord.EARLY ? 1 : mpirunCode);
    }

    /** The rank of the first failure, or {@link ObservedFailure#NO_RANK}. */
    public int rank() {
        return isHead()
                ? cause().map(FailureRecord::rank).orElse(ObservedFailure.NO_RANK)
                : unrecorded().get().rank();
    }

    /** The host of the first failure; empty if it is not known. */
    public String host() {
        return isHead()
                ? cause().map(FailureRecord::host).orElse("")
                : unrecorded().get().host();
    }

    public String text() {
        if (records.isEmpty() && seen.isEmpty()) {
            String unknown = "no rank left a record of its failure";
            String code = "horovodrun: exit code " + exitCode() + meaning();
            return evidence.text().isEmpty()
                    ? code + "; " + unknown + "\n"
                    : "\nhorovodrun: " + unknown + "\n" + evidence.text() + code + "\n";
        }
        var text = new StringBuilder("\n").append(head());
        List<FailureRecord> others =
                records.stream().skip(isHead() ? 1 : 0).limit(MOST_FOLLOWERS).toList();
        others.forEach(other -> text.append(follower(other)));
        int more = records.size() - (isHead() ? 1 : 0) - others.size();
        text.append(more > 0 ? "  and " + more + " more ranks in consequence\n" : "");
        return text.append("horovodrun: exit code ")
                .append(exitCode())
                .append(meaning())
                .append('\n')
                .toString();
    }

    /** The record of the first failure, unless another process had been gone before without a word. */
    private Optional<FailureRecord> cause() {
        Optional<FailureRecord> first =
                records.stream().filter(record -> !record.consequence()).findFirst();
        return first.filter(cause -> unrecorded()
                .filter(process -> process.isMpirun() || noticedBefore(process, cause.time()))
                .isEmpty());
    }

    /** A killed process leaves nothing; what the others noticed of it tells that it came first. */
    private boolean noticedBefore(ObservedFailure process, Instant time) {
        return (process.bySignal() || process.rank() == ObservedFailure.NO_RANK)
                && records.stream()
                        .anyMatch(
                                record -> record.consequence() && record.time().isBefore(time));
    }

    /** The failure that mpirun saw, if that process has left no record: one that has, knew more, or ended later than others. */
    private Optional<ObservedFailure> unrecorded() {
        return seen.filter(process -> records.stream().noneMatch(record -> record.rank() == process.rank()));
    }

    /** Whether the first record is what the report begins with. */
    private boolean isHead() {
        return cause().isPresent() || unrecorded().isEmpty();
    }

    private String head() {
        if (!isHead()) {
            return "horovodrun: first failure: " + unrecorded().get().words()
                    + (records.isEmpty() ? "" : " (first noticed at " + firstTime() + ")") + "\n"
                    + evidence.text();
        }
        FailureRecord first = cause().orElse(records.get(0));
        return "horovodrun: first failure: "
                + (cause().isPresent() ? "" : "what failed left no record of its own; noticed first by ")
                + where(first) + ", pid " + first.pid() + ", thread " + first.thread() + ", at " + first.time()
                + "\n  " + first.reason() + "\n" + stack(first)
                + (cause().isPresent() ? "" : evidence.text());
    }

    private static String stack(FailureRecord record) {
        List<String> lines = record.stack().lines().toList();
        var text = new StringBuilder();
        lines.stream()
                .limit(MOST_STACK_LINES)
                .forEach(line -> text.append("    ").append(line).append('\n'));
        int more = lines.size() - MOST_STACK_LINES;
        return text.append(more > 0 ? "    ... and " + more + " more lines, printed by the rank itself\n" : "")
                .toString();
    }

    private String follower(FailureRecord other) {
        Instant start = isHead() ? cause().orElse(records.get(0)).time() : firstTime();
        double seconds = Duration.between(start, other.time()).toMillis() / 1000.0;
        String kind = other.consequence() ? "in consequence" : "also failed";
        // Locale.ROOT, which writes the same, would load the symbols of all locales, and a failed job waits for this
        // report.
        return String.format(
                Locale.US, "  %s: %s, %+.2f s: %s%n", kind, where(other), seconds, firstLine(other.reason()));
    }

    /** The time at which a rank first noticed the failure that left no record. */
    private Instant firstTime() {
        return records.stream().map(FailureRecord::time).min(Instant::compareTo).orElseThrow();
    }

    private static String firstLine(String reason) {
        return reason.lines().findFirst().orElse("");
    }

    private static String where(FailureRecord record) {
        String rank = record.rank() < 0 ? "a rank not yet numbered" : "rank " + record.rank();
        return rank + " on " + record.host();
    }

    private String meaning() {
        if (!ObservedFailure.isSignal(exitCode())) {
            return "";
        }
        int signal = exitCode() - ObservedFailure.SIGNAL_BASE;
        String whose = unrecorded().filter(ObservedFailure::isMpirun).isPresent() ? "mpirun" : "a rank";
        return signal == SIGKILL
                ? " (" + whose + " was killed by signal 9: "
                        + (evidence.killer().isEmpty()
                                ? "by someone, or by the kernel for want of memory"
                                : evidence.killer())
                        + ")"
                : " (" + whose + " was ended by signal " + signal + ")";
    }
}
