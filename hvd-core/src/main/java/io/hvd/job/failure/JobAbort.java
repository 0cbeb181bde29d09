package io.hvd.job.failure;

import io.hvd.monitor.view.HangReport;
import io.hvd.transport.mpi.MpiProcess;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Ends a job that cannot go on: tells the other ranks, gives them the time to leave their records, and aborts. Any
 * thread.
 */
final class JobAbort {
    static final int EXIT_CODE = 1;

    private static final long TELL_MILLIS = 500;
    /** Time for the engine to learn of a thread's failure. */
    private static final long HEAR_MILLIS = 1_000;
    /** More than a rank takes to leave after another one's failure, at the end of which the process ends. */
    private static final long LEAVE_MILLIS = 10_000;

    private final FailureReport report;
    private final FailureExit exit;
    private final AtomicBoolean failing = new AtomicBoolean();
    /** Ends the process when another rank has failed. */
    private final CompletableFuture<Thread> leaving = new CompletableFuture<>();

    JobAbort(FailureReport report) {
        this.report = report;
        this.exit = new FailureExit(report, FailureExit.Limits.STANDARD);
    }

    /**
     * This rank's own failure, which has been reported: ends all ranks, and this process in any case. Only the first
     * one counts.
     */
    void failed(JobMember member, String why) {
        if (failing.compareAndSet(false, true)) {
            tell(member, why);
            abort();
        }
    }

    /** Tells the other ranks, which then leave. This process is the caller's to end. */
    void tell(JobMember member, String why) {
        member.fail(report.sentence(why), TELL_MILLIS);
        exit.awaitOthers(new MemberView(member));
    }

    /** Has the calls that wait on this rank throw, and every later one. Its process goes on. */
    void free(JobMember member, String why) {
        member.fail(report.sentence(why), TELL_MILLIS);
    }

    /**
     * Leaves a job that cannot go on, as the engine has learned. If the launcher does not end this process, it ends
     * itself.
     */
    void leave(JobMember member, String why) {
        Thread last = daemon(
                () -> {
                    exit.leave(new MemberView(member), why);
                    abort();
                },
                "hvd-guard");
        last.start();
        leaving.complete(last);
    }

    /**
     * Waits until this process is ended for another rank's failure. If it left first, its exit code would be the job's.
     */
    void awaitLeaving() {
        try {
            leaving.get(HEAR_MILLIS, TimeUnit.MILLISECONDS).join(LEAVE_MILLIS);
        } catch (TimeoutException | ExecutionException e) {
            // The job goes on, and what was thrown ends it now.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * The process ends already: leaves the record of another rank's failure, and stays until all of this host have left
     * theirs.
     */
    void sayWhy(JobMember member, String why) {
        exit.sayWhy(new MemberView(member), why);
    }

    /** A hang has been reported, which ends every rank's process. */
    void hung(JobMember member, HangReport hang) {
        noteHang(member, hang);
        exit.awaitOthers(new MemberView(member));
        EndProcess.halt();
    }

    /** Leaves the record of a rank that another one's report ends. */
    void noteHang(JobMember member, HangReport hang) {
        if (hang.reporter() != member.topology().rank()) {
            report.quietly("ended, because rank " + hang.reporter() + " has reported a hang", "hvd-monitor", true);
        }
    }

    /** Ends this process in any case; where it is the only one of its job, nothing else would. */
    static void abort() {
        try {
            MpiProcess.ofThisProcess().abort(EXIT_CODE);
        } finally {
            EndProcess.halt();
        }
    }

    static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }
}
