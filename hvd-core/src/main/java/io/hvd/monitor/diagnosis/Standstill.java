package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.Phrases;
import io.hvd.monitor.view.RankView;
import io.hvd.monitor.view.Stillness;
import java.util.Collection;
import java.util.List;
import java.util.Objects;

/**
 * The finding of a look at all ranks of a job in which every rank waits. It is certain that nothing moves any more if each
 * call lacks ranks and no thread of any process can make a call that is missing.
 *
 * @param kind whether the job stands still
 * @param reason why it is only likely; empty otherwise
 * @param fingerprint the same in two looks only if nothing has happened on any rank in between
 */
public record Standstill(Kind kind, String reason, long fingerprint) {
    public enum Kind {
        NONE,
        /** Every call waits for a rank that waits as well, but some thread may make another call. */
        LIKELY,
        CERTAIN
    }

    public static final Standstill NONE = new Standstill(Kind.NONE, "", 0);

    /** @param waits those of the ranks, as {@link CollectiveWait#of} finds them */
    public static Standstill of(List<CollectiveWait> waits, Collection<RankView> ranks) {
        if (waits.isEmpty() || !ranks.stream().allMatch(Standstill::standsInCalls)) {
            return NONE;
        }
        if (waits.stream().anyMatch(Standstill::mayEnd)) {
            return NONE;
        }
        long calls = ranks.stream()
                .mapToLong(view -> 31L * view.rank()
                        + view.activity().pending().stream()
                                .mapToLong(CallView::number)
                                .reduce(17, (all, one) -> 31 * all + one))
                .reduce(7, (all, one) -> 31 * all + one);
        return ranks.stream()
                .filter(view -> !stillness(view).awake().isEmpty())
                .findFirst()
                .map(view -> new Standstill(
                        Kind.LIKELY,
                        "rank " + view.rank() + " may still act, since "
                                + stillness(view).awake(),
                        calls))
                .orElseGet(() -> new Standstill(
                        Kind.CERTAIN,
                        "",
                        Objects.hash(
                                calls,
                                ranks.stream()
                                        .map(view -> stillness(view).fingerprint())
                                        .toList())));
    }

    /** Whether nothing has happened on any rank between this look and another one. */
    public boolean isSameAs(Standstill other) {
        return kind == other.kind && fingerprint == other.fingerprint;
    }

    private static boolean standsInCalls(RankView view) {
        return view.answers()
                && !view.activity().pending().isEmpty()
                && !view.activity().phase().isOpen();
    }

    private static Stillness stillness(RankView view) {
        return view.live().map(LiveReport::stillness).orElse(Stillness.UNKNOWN);
    }

    /** A call to which all have come is carried out, and one with a limit ends by it. */
    private static boolean mayEnd(CollectiveWait wait) {
        return wait.isBegun()
                || wait.missing().isEmpty()
                || wait.waiting().values().stream().anyMatch(CallView::hasLimit);
    }

    /** One line about it. @param limitMillis the time after which a certain one ends the job */
    public String warning(String verdict, long millis, long limitMillis) {
        String waits = "every rank has waited for " + Phrases.seconds(millis)
                + " for a call that a waiting rank has not made: " + verdict + ". ";
        if (kind == Kind.LIKELY) {
            return waits + "This is likely to be a deadlock; it is not certain, because " + reason;
        }
        String end = limitMillis == Long.MAX_VALUE
                ? "The wait goes on, because no limit is set."
                : "The job ends after " + Phrases.seconds(limitMillis) + " of this.";
        return waits + "This is a deadlock: no thread of any rank can make the missing calls. " + end;
    }
}
