package io.hvd.job;

import io.hvd.monitor.HangReport;
import io.hvd.spi.Topology;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sees to it that a job never outlives one of its ranks: a rank that throws or exits says why, tells
 * the others and ends them all. MPI alone notices neither an exception in a background thread nor,
 * while other threads live, one in main.
 */
final class JobGuard implements JobEvents {
    private static final Logger LOG = LoggerFactory.getLogger(JobGuard.class);

    private final FailureReport report;
    private final JobAbort abort;
    private final UncaughtExceptions uncaught;
    private final ExitHook exitHook;
    private boolean installed;
    /** Null until this rank has joined. */
    private volatile Membership membership;

    JobGuard(FailureReport report) {
        this.report = report;
        this.abort = new JobAbort(report);
        this.uncaught = new UncaughtExceptions(report, abort);
        this.exitHook = new ExitHook(report, abort, uncaught::hasThrown);
    }

    /**
     * Watches this process for as long as it lives: uncaught exceptions in any thread, and exits with
     * the context still open. Called again after a shutdown, for the next context.
     */
    void watch(Membership watched) {
        follow(watched);
        install();
        JobAbort.daemon(this::rehearse, "hvd-guard-rehearsal").start();
    }

    /** What takes longest the first time is done once while nothing is wrong. */
    private void rehearse() {
        report.rehearse();
        ExitCause.find();
        new MemberView(membership).living();
    }

    /** Speaks for one of several ranks of this process; another guard watches the process. */
    void follow(Membership followed) {
        membership = followed;
    }

    /** Whether this process is a rank of a job, or one of its threads is, at the moment. */
    boolean isInJob() {
        Membership watched = membership;
        return watched != null && watched.isOpen();
    }

    /** The body of a rank that is a thread has thrown, which ends the job; if it was over, nothing is left to end. */
    void threw(Thread thread, Throwable cause) {
        uncaught.handle(null, membership, thread, cause);
    }

    /** Init is about to throw. */
    void notJoined(Throwable cause) {
        uncaught.notJoined(cause);
        install();
    }

    private synchronized void install() {
        if (installed) {
            return;
        }
        installed = true;
        Thread.UncaughtExceptionHandler previous = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler(
                (thread, cause) -> uncaught.handle(previous, membership, thread, cause));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> exitHook.run(membership), "hvd-exit"));
    }

    @Override
    public void placed(Topology topology) {
        report.speakFor(topology);
    }

    @Override
    public void failed(Membership member, String why) {
        abort.leave(member, why);
    }

    /** Every rank has closed in order, so what the program has come to stands. */
    @Override
    public void heldUp(Membership member, long millis) {
        LOG.warn(
                "MPI_Finalize has not returned within {} s although every rank has called it; {} ends without it."
                        + " A foreign connection to a port of Open MPI does that: see docs/security.md",
                millis / 1_000,
                report.name());
    }

    /** The reporter's record is the cause that the launcher shows; stderr has had its summary. The others end when they are told. */
    @Override
    public void hangFound(Membership member, HangReport hang) {
        report.quietly("the job hangs: " + hang.verdict() + "; all stacks: " + hang.file(), "hvd-monitor", false);
    }

    @Override
    public void hung(Membership member, HangReport hang) {
        abort.hung(member, hang);
    }

    void noteHang(Membership member, HangReport hang) {
        abort.noteHang(member, hang);
    }
}
