package io.hvd.top;

import io.hvd.top.OpenPages.Sighting;
import io.hvd.top.RankPage.Call;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * The present activity of a rank.
 *
 * @param state a word for programs
 * @param text the same for people
 * @param waitingFor the ranks of this host that have not made the call in which it waits
 * @param sinceMillis how long the oldest call has not ended, or how long the rank has been silent; 0 if it computes
 */
record RankActivity(State state, String text, List<Integer> waitingFor, long sinceMillis) {
    /** A shorter wait is a part of most steps, and pages are up to a second old. */
    private static final long WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(1_500);
    /**
     * A call ends on all ranks within this time. One that has ended earlier than the waiting rank's page says was made for the
     * step before, even if it has ended after the others' next call of the same name.
     */
    private static final long SKEW_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    /** A rank writes its page every second. */
    private static final long SILENT_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final double MILLIS = 1e3;

    /** The kinds of activity. */
    enum State {
        COMPUTING,
        PHASE,
        COLLECTIVE,
        WAITING,
        SILENT,
        STOPPED
    }

    /** @param job all ranks of the same job that this host has */
    static RankActivity of(Sighting rank, List<Sighting> job, long nowNanos) {
        RankPage page = rank.page();
        long silent = nowNanos - page.nanos();
        if (rank.process().isStopped()) {
            return new RankActivity(State.STOPPED, "stopped (process state T)", List.of(), millis(silent));
        }
        if (silent > SILENT_NANOS) {
            String text = "has said nothing for " + seconds(silent) + ", last " + before(page);
            return new RankActivity(State.SILENT, text, List.of(), millis(silent));
        }
        if (page.pending().isEmpty()) {
            return page.phase().isEmpty()
                    ? new RankActivity(State.COMPUTING, "computing", List.of(), 0)
                    : new RankActivity(State.PHASE, "phase " + page.phase(), List.of(), 0);
        }
        return in(page.pending().get(0), rank, job, nowNanos);
    }

    private static String before(RankPage page) {
        return page.pending().isEmpty()
                ? "computing"
                : "in " + page.pending().get(0).words();
    }

    private static RankActivity in(Call call, Sighting rank, List<Sighting> job, long nowNanos) {
        RankPage page = rank.page();
        long since = nowNanos - page.submittedNanos(call);
        String more = page.pendingCalls() > 1 ? " and " + (page.pendingCalls() - 1) + " more" : "";
        String where = call.words() + more;
        if (since < WAIT_NANOS || call.begun() == 1) {
            // The page is a little old itself, so the age of a call that is not waited for would mislead.
            return new RankActivity(State.COLLECTIVE, "in " + where, List.of(), millis(since));
        }
        List<Integer> missing = page.members(call).stream()
                .filter(member -> job.stream().anyMatch(other -> lacks(other, member, call, page)))
                .toList();
        if (!missing.isEmpty()) {
            String text = "waits for " + ranks(missing) + " in " + where + " for " + seconds(since);
            return new RankActivity(State.WAITING, text, missing, millis(since));
        }
        List<Integer> unseen = page.members(call).stream()
                .filter(member -> job.stream().noneMatch(other -> other.page().rank() == member))
                .toList();
        String text = perhaps(unseen, page) + "in " + where + " for " + seconds(since);
        return new RankActivity(unseen.isEmpty() ? State.COLLECTIVE : State.WAITING, text, List.of(), millis(since));
    }

    /** @param unseen members without a page here: those of other hosts, and those of this one that are gone */
    private static String perhaps(List<Integer> unseen, RankPage page) {
        List<Integer> gone = unseen.stream().filter(page.localRanks()::contains).toList();
        if (!gone.isEmpty()) {
            return "waits, perhaps for " + ranks(gone) + ", gone from this host, ";
        }
        return unseen.isEmpty() ? "" : "waits, perhaps for ranks of other hosts, ";
    }

    /** Whether this is the rank, and it has not made the call that another one waits in. */
    private static boolean lacks(Sighting one, int rank, Call call, RankPage waiting) {
        RankPage page = one.page();
        boolean mayHaveMore = page.pendingCalls() > page.pending().size();
        if (page.rank() != rank || mayHaveMore || page.pending().stream().anyMatch(call::isSameAs)) {
            return false;
        }
        long called = waiting.submittedNanos(call);
        long pendingUntil = Math.max(called, waiting.nanos() - SKEW_NANOS);
        boolean isOver = call.isSameAs(page.last()) && page.endedNanos(page.last()) > pendingUntil;
        boolean hasLookedSince = page.nanos() > called || one.process().isStopped();
        return hasLookedSince && !isOver;
    }

    /** Words for ranks that are not empty. */
    static String ranks(List<Integer> ranks) {
        return ranks.size() == 1 ? "rank " + ranks.get(0) : "ranks " + ranks;
    }

    static long millis(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(nanos);
    }

    private static String seconds(long nanos) {
        return String.format(Locale.ROOT, "%.1f s", millis(nanos) / MILLIS);
    }
}
