package io.hvd.monitor.view;

import java.util.Optional;

/**
 * The reporter's knowledge of a rank.
 *
 * @param activity what the rank does now: its answer, or its last sign of life with the time added that has passed since
 * @param heardAgo milliseconds since the rank's last sign of life, 0 if it answers, {@link CallView#NOT_YET} if there
 *     was none
 * @param live its answer, if it answers
 */
public record RankView(
        RankProcess member, ProcessState state, Activity activity, long heardAgo, Optional<LiveReport> live) {

    public static RankView answering(RankProcess member, LiveReport report) {
        return new RankView(member, ProcessState.ANSWERS, report.activity(), 0, Optional.of(report));
    }

    public static RankView silent(RankProcess member, ProcessState state, Activity last, long heardAgo) {
        return new RankView(member, state, last, heardAgo, Optional.empty());
    }

    public int rank() {
        return member.rank();
    }

    /** Whether the rank answers, and its thread has called hvd and waits there. */
    public boolean isInsideHvd() {
        return live.map(report -> report.training().insideHvd()).orElse(false);
    }

    public boolean answers() {
        return live.isPresent();
    }
}
