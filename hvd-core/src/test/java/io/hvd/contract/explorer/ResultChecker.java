package io.hvd.contract.explorer;

import io.hvd.contract.explorer.Finding.Property;
import io.hvd.contract.program.Kind;
import io.hvd.contract.program.Op;
import io.hvd.contract.program.Program;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Checks the results that the ranks of a program have recorded, and names what is wrong. */
final class ResultChecker {
    /**
     * An operation may be done so much later than the last of those that take part has asked for it. The engine leaves a
     * fixed plan after a second; the rest is for a machine that is busy with other things.
     */
    static final long SLACK_MILLIS = 2_500;

    /** Beyond the time for which threads have waited for a core, no machine is so late. */
    private static final long CERTAIN_MILLIS = 10_000;

    /** The others know the time at which a rank comes to a barrier no more exactly than this. */
    private static final long TOLERANCE_MILLIS = 300;

    private static final Pattern MISSING = Pattern.compile("ranks \\{([^}]*)} had not come");

    private final Program program;
    private final List<RankLog> logs;
    private final List<Finding> findings = new ArrayList<>();
    private long longestLagMillis;

    private ResultChecker(Program program, List<RankLog> logs) {
        this.program = program;
        this.logs = logs;
    }

    /**
     * The result of the check.
     *
     * @param longestLagMillis from the time when the last rank had asked for an operation until one knew it was done
     */
    record Verdict(List<Finding> findings, long longestLagMillis) {}

    /** @param logs by rank */
    static Verdict of(Program program, List<RankLog> logs) {
        ResultChecker checker = new ResultChecker(program, logs);
        checker.check();
        return new Verdict(checker.findings, checker.longestLagMillis);
    }

    private void check() {
        for (int rank = 0; rank < logs.size(); rank++) {
            for (String what : logs.get(rank).findings()) {
                findings.add(new Finding(Property.EQUALS_THE_PLAIN_LOOP, true, "rank " + rank + ": " + what));
            }
        }
        for (Op op : program.ops()) {
            if (op.members().stream().anyMatch(rank -> logs.get(rank).called[op.id()] != 0)) {
                judgeResults(op);
                judgeBarrier(op);
                judgeTimes(op);
            }
        }
    }

    private void judgeResults(Op op) {
        List<Integer> ready = op.members().stream()
                .filter(rank -> logs.get(rank).done[op.id()] != 0)
                .toList();
        if (!op.kind().givesAllTheSame() || op.isFlawed() || ready.isEmpty()) {
            return;
        }
        long first = logs.get(ready.get(0)).digest[op.id()];
        List<Integer> others = ready.stream()
                .filter(rank -> logs.get(rank).digest[op.id()] != first)
                .toList();
        if (!others.isEmpty()) {
            findings.add(new Finding(
                    Property.EQUALS_THE_PLAIN_LOOP,
                    true,
                    op + ": ranks " + others + " have got other bits than rank " + ready.get(0)));
        }
    }

    /** A rank that has come in time is not missing, and no other one passes. */
    private void judgeBarrier(Op op) {
        if (op.kind() != Kind.LIMITED_BARRIER) {
            return;
        }
        List<String> said = op.members().stream()
                .map(rank -> logs.get(rank).gaveUp[op.id()])
                .toList();
        long due = firstCalled(op) + millis(op.limitMillis());
        if (said.stream().distinct().count() > 1) {
            find(Long.MAX_VALUE, op + ": the ranks have heard of different ends: " + said);
        } else if (!said.get(0).isEmpty()) {
            judgeNamed(op, due, said.get(0));
        } else if (lastCalled(op) > due + millis(SLACK_MILLIS)) {
            long late = inMillis(lastCalled(op) - due);
            findUnlessStarved(
                    late,
                    SLACK_MILLIS,
                    due,
                    lastCalled(op),
                    op + ": all have passed, though the last rank came " + late + " ms too late");
        }
    }

    private void judgeNamed(Op op, long due, String said) {
        Matcher missing = MISSING.matcher(said);
        TreeSet<Integer> named = new TreeSet<>();
        if (missing.find()) {
            Arrays.stream(missing.group(1).split(", ")).map(Integer::valueOf).forEach(named::add);
        }
        for (int rank : op.members()) {
            long came = logs.get(rank).called[op.id()];
            long early = inMillis(due - came);
            if (named.contains(rank) && early > TOLERANCE_MILLIS) {
                findUnlessStarved(
                        early,
                        TOLERANCE_MILLIS,
                        came,
                        due,
                        op + ": " + said + "; rank " + rank + " had come " + early + " ms before the end");
            } else if (!named.contains(rank) && -early > SLACK_MILLIS) {
                findUnlessStarved(
                        -early,
                        SLACK_MILLIS,
                        due,
                        came,
                        op + ": " + said + "; rank " + rank + " is not named, though it came " + -early
                                + " ms too late");
            }
        }
    }

    private void judgeTimes(Op op) {
        long ready = op.kind() == Kind.LIMITED_BARRIER
                ? Math.min(lastCalled(op), firstCalled(op) + millis(op.limitMillis()))
                : lastCalled(op);
        for (int rank : op.members()) {
            RankLog log = logs.get(rank);
            if (log.handed[op.id()] != 0) {
                judgeLag(op, rank, "coming back from the call", log.called[op.id()], log.handed[op.id()]);
            }
            if (log.done[op.id()] != 0) {
                long from = Math.max(ready, Math.max(log.called[op.id()], log.waited[op.id()]));
                judgeLag(op, rank, "waiting after all had asked for it", from, log.done[op.id()]);
            }
        }
    }

    private void judgeLag(Op op, int rank, String doing, long from, long to) {
        long lag = inMillis(to - from);
        longestLagMillis = Math.max(longestLagMillis, lag);
        if (lag > SLACK_MILLIS) {
            findUnlessStarved(lag, SLACK_MILLIS, from, to, op + ": rank " + rank + " was " + lag + " ms " + doing);
        }
    }

    /**
     * What threads have waited for a core in that time is the machine's fault, in whatever process it was.
     *
     * @param from the time from which something should have happened
     * @param to when it has
     */
    private void findUnlessStarved(long millis, long allowedMillis, long from, long to, String what) {
        long starved = inMillis(logs.stream()
                .mapToLong(log -> Starvation.between(log.starvation, from, to))
                .sum());
        if (millis - starved > allowedMillis) {
            find(millis - starved, what + (starved > 0 ? "; " + starved + " ms of it for want of a core" : ""));
        }
    }

    /** @param millis by which something has come too late, or too early, on a machine with cores enough */
    private void find(long millis, String what) {
        findings.add(new Finding(Property.STALLS_FOR_NOBODY, millis > CERTAIN_MILLIS, what));
    }

    private static long millis(long millis) {
        return millis * 1_000_000;
    }

    private static long inMillis(long nanos) {
        return nanos / 1_000_000;
    }

    private long firstCalled(Op op) {
        return op.members().stream()
                .mapToLong(rank -> logs.get(rank).called[op.id()])
                .filter(time -> time != 0)
                .min()
                .orElse(0);
    }

    /** A rank that has joined has asked for it by that. */
    private long lastCalled(Op op) {
        return op.members().stream()
                .mapToLong(rank -> {
                    long own = logs.get(rank).called[op.id()];
                    return own == 0 && op.joins() >= 0 ? logs.get(rank).called[op.joins()] : own;
                })
                .max()
                .orElse(0);
    }
}
