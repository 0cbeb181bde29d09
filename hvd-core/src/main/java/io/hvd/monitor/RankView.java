package io.hvd.monitor;

import java.util.Optional;

/**
 * The reporter's knowledge of a rank.
 *
 * @param activity what the rank does now: its answer, or its last sign of life with the time added that has passed since
 * @param heardAgo milliseconds since the rank's last sign of life, 0 if it answers, {@link CallView#NOT_YET} if there
 *     was none
 * @param live its answer, if it answers
 */
record RankView(Member member, ProcessState state, Activity activity, long heardAgo, Optional<LiveReport> live) {

    static RankView answering(Member member, LiveReport report) {
        return new RankView(member, ProcessState.ANSWERS, report.activity(), 0, Optional.of(report));
    }

    static RankView silent(Member member, ProcessState state, Activity last, long heardAgo) {
        return new RankView(member, state, last, heardAgo, Optional.empty());
    }

    int rank() {
        return member.rank();
    }

    /** Whether the rank answers, and its thread has called hvd and waits there. */
    boolean isInsideHvd() {
        return live.map(report -> report.training().insideHvd()).orElse(false);
    }

    boolean answers() {
        return live.isPresent();
    }
}
