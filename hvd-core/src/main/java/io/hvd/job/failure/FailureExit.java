package io.hvd.job.failure;

import io.hvd.transport.mpi.openmpi.LauncherLimit;
import java.util.List;
import java.util.Optional;

/**
 * How a rank leaves when another one has failed: with its record, not before the other ranks of its
 * host have left theirs, and then without a rest. All times are limits for what may never come.
 */
final class FailureExit {
    private final FailureReport report;
    private final Limits limits;

    /**
     * @param speakMillis time for a thread that was waiting for the failed rank, whose message says more than the
     *     guard's
     * @param recordsMillis time for the records of this host's ranks. mpirun itself gives a second or two; under any
     *     launcher, a rank that leaves earlier may cause the end of a rank that is still writing
     * @param leaveMillis time for mpirun to end this process, once for each of two calls. If mpirun does not, the
     *     survivors end themselves later, so that the exit code is that of the failed rank
     */
    record Limits(long speakMillis, long recordsMillis, long leaveMillis) {
        static final Limits STANDARD = new Limits(60, 3_000, 500);
    }

    /** The view of a rank on its job while it leaves. */
    interface JobView {
        int rank();

        /** The other ranks of this host whose processes run. */
        List<Integer> living();

        /** See {@link JobMember#threadsSpeak()}. */
        boolean threadsSpeak();

        /** Has the launcher ended if it does not end after its ranks; see {@link LauncherLimit#begin}. */
        void limitLauncher(boolean first);

        /** Makes ready to wake mpirun from its sleeps; empty where it is not the parent. */
        Optional<Runnable> waker();
    }

    FailureExit(FailureReport report, Limits limits) {
        this.report = report;
        this.limits = limits;
    }

    /**
     * Says why, then wakes mpirun from its sleeps, which ends the ranks at once: only when all have left their records.
     * Usually this process is ended meanwhile; if this returns, it has to end itself.
     */
    void leave(JobView job, String why) {
        try {
            say(job, why);
            limitLauncher(job);
            // One rank is enough to wake mpirun; the others do it only if that one does not.
            boolean first = isFirst(job);
            Optional<Runnable> waker = first ? job.waker() : Optional.empty();
            boolean complete = report.awaitRecords(job::living, limits.recordsMillis());
            if (complete) {
                waker.ifPresent(Runnable::run);
            }
            Thread.sleep(limits.leaveMillis());
            if (complete && !first) {
                job.waker().ifPresent(Runnable::run);
            }
            Thread.sleep(limits.leaveMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns when no rank of this host needs its time any longer. */
    void sayWhy(JobView job, String why) {
        try {
            say(job, why);
            limitLauncher(job);
            report.awaitRecords(job::living, limits.recordsMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The launcher has to end after this host's ranks, whatever it waits for. */
    private void limitLauncher(JobView job) {
        job.limitLauncher(isFirst(job));
    }

    private static boolean isFirst(JobView job) {
        return job.living().stream().allMatch(other -> other > job.rank());
    }

    private void say(JobView job, String why) throws InterruptedException {
        if (!report.awaitSaid(job.threadsSpeak() ? limits.speakMillis() : 0)) {
            report.consequence(
                    "ended, because the job cannot go on: " + why,
                    Thread.currentThread().getName());
            // Another thread may have begun to say it, and not be through.
            report.awaitSaid(limits.recordsMillis());
        }
    }

    /** Called on the failed rank: when the first process ends, mpirun ends the others, which may still be writing. */
    void awaitOthers(JobView job) {
        try {
            limitLauncher(job);
            report.awaitRecords(job::living, limits.recordsMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
