package io.hvd;

import java.util.Optional;

/**
 * How a rank leaves when another one has failed: with its record, not before the other ranks of its
 * host have left theirs, and then without a rest.
 */
final class Survivor {
    /** A thread that was waiting for the failed rank says more than the guard can, so it may speak first. */
    private static final long SPEAK_MILLIS = 60;
    /** For the records of this host's ranks, before mpirun is told that nobody needs its time; it gives a second. */
    private static final long RECORDS_MILLIS = 800;
    /**
     * mpirun ends the survivors when it has noticed who failed first. Only if it does not, they end
     * themselves: later, so that the exit code is the first one's.
     */
    private static final long LEAVE_MILLIS = 1_000;

    private final FailureNotice report;

    Survivor(FailureNotice report) {
        this.report = report;
    }

    /**
     * Says why, then wakes mpirun from its sleeps. Usually this process is ended meanwhile; if this
     * returns, it has to end itself.
     */
    void leave(Membership member, String why) {
        // One rank is enough to wake mpirun; the others do it only if that one does not.
        boolean first = member.monitor().neighbours().living().stream()
                .allMatch(other -> other > member.topology().rank());
        Optional<MpiParent> mpirun = first ? MpiParent.ofThisProcess() : Optional.empty();
        sayWhy(member, why);
        if (!first) {
            sleep(LEAVE_MILLIS / 2);
            mpirun = MpiParent.ofThisProcess();
        }
        mpirun.ifPresent(MpiParent::wake);
        sleep(LEAVE_MILLIS / 2);
    }

    /** Returns when no rank of this host needs its time any longer. */
    void sayWhy(Membership member, String why) {
        try {
            if (!report.awaitSaid(SPEAK_MILLIS)) {
                report.consequence(
                        "ended, because the job cannot go on: " + why,
                        Thread.currentThread().getName());
                // Another thread may have begun to say it, and not be through.
                report.awaitSaid(RECORDS_MILLIS);
            }
            report.awaitRecords(member.monitor().neighbours()::living, RECORDS_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static void sleepUntilEnded() {
        sleep(LEAVE_MILLIS);
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
