package io.hvd.launch.failure;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads along what mpirun says on standard error, to know which process it saw failing first. */
public final class MpirunWords {

    private static final Pattern NAME = Pattern.compile("^\\s*Process name: +\\[.*,(\\d{1,9})\\]$");
    private static final Pattern CODE = Pattern.compile("^\\s*Exit code: +(\\d{1,9})$");
    private static final Pattern KILLED =
            Pattern.compile("noticed that process rank (\\d{1,9}) with PID (\\d+) on node (\\S+) exited");
    private static final Pattern SIGNAL = Pattern.compile("signal (\\d{1,9}) \\(");
    private static final Pattern ABORT =
            Pattern.compile("^MPI_ABORT was invoked on rank (\\d{1,9}) in communicator MPI_COMM_WORLD.*");
    private static final Pattern ABORT_CODE = Pattern.compile("with errorcode (-?\\d{1,9})\\b");
    private static final Pattern LOST = Pattern.compile("^ *Remote daemon: .* on node (\\S+)$");
    private final LastLines lastLines = new LastLines();
    private String rank = "";
    private String killed = "";
    private String pid = "";
    private String node = "";
    private String aborted = "";
    private Optional<ObservedFailure> firstAbort = Optional.empty();
    private Optional<ObservedFailure> first = Optional.empty();

    /** The process that mpirun saw failing first and how, in words. */
    public synchronized Optional<ObservedFailure> firstFailure() {
        return first;
    }

    /** The last lines of ranks, only those of this rank if they are told apart. */
    public synchronized LastLines.Said lastLines(int ofRank) {
        return lastLines.of(ofRank);
    }

    /** Takes one line. */
    public synchronized void accept(String text) {
        lastLines.add(text);
        Matcher name = NAME.matcher(text);
        if (name.find()) {
            rank = name.group(1);
        }
        Matcher code = CODE.matcher(text);
        if (code.find() && !rank.isEmpty()) {
            int exitCode = Integer.parseInt(code.group(1));
            found(new ObservedFailure(
                    Integer.parseInt(rank), "", exitCode, "rank " + rank + " ended with exit code " + exitCode));
        }
        acceptKill(text);
        acceptAbort(text);
        Matcher lost = LOST.matcher(text);
        if (lost.find()) {
            found(new ObservedFailure(
                    ObservedFailure.NO_RANK,
                    lost.group(1),
                    ObservedFailure.NO_CODE,
                    "mpirun has lost the connection to host " + lost.group(1)));
        }
    }

    /** Open MPI 5 breaks the sentence into two lines. */
    private void acceptKill(String text) {
        Matcher kill = KILLED.matcher(text);
        if (kill.find()) {
            killed = kill.group(1);
            pid = kill.group(2);
            node = kill.group(3);
        }
        Matcher signal = SIGNAL.matcher(text);
        if (!killed.isEmpty() && signal.find()) {
            int number = Integer.parseInt(signal.group(1));
            // It says 0 where the daemon has forgotten the process already.
            String process = pid.equals("0") ? "" : ", pid " + pid;
            String words = "rank " + killed + " on " + node + process + ", was ended by signal " + number;
            outrankAbort();
            found(new ObservedFailure(Integer.parseInt(killed), node, ObservedFailure.SIGNAL_BASE + number, words));
        }
    }

    /** The two halves stand on two lines. */
    private void acceptAbort(String text) {
        Matcher abort = ABORT.matcher(text);
        if (abort.find()) {
            aborted = abort.group(1);
        }
        Matcher code = ABORT_CODE.matcher(text);
        if (!aborted.isEmpty() && code.find()) {
            int exitCode = Integer.parseInt(code.group(1));
            String words = "rank " + aborted + " ended the job with exit code " + exitCode;
            var seen = new ObservedFailure(Integer.parseInt(aborted), "", exitCode, words);
            firstAbort = firstAbort.or(() -> Optional.of(seen));
            found(seen);
        }
    }

    /** A rank that aborts may only have noticed the process that was killed before, which mpirun names at the end. */
    private void outrankAbort() {
        if (first.equals(firstAbort)) {
            first = Optional.empty();
        }
    }

    private void found(ObservedFailure what) {
        first = first.or(() -> Optional.of(what));
    }
}
