package io.hvd.job.failure;

import io.hvd.config.HvdConfig;
import io.hvd.log.HvdLogger;
import io.hvd.monitor.view.HangReport;
import io.hvd.spi.Topology;

/**
 * Ends this process when its job fails, and the job when this process ends too early, so that a job never outlives one of
 * its ranks: a rank that throws or exits says why, tells
 * the others and ends them all. MPI alone notices neither an exception in a background thread nor,
 * while other threads live, one in main.
 *
 * <p>A rank that is alone in its job, and was started by no launcher, has nobody to tell: its process is the program's
 * own, which may be a server or a notebook, and is never ended here.
 */
public final class EndProcess implements FailureHandler {
    private static final HvdLogger LOG = HvdLogger.of(EndProcess.class);

    /** Time in which the last ranks end their init; a failure that comes sooner is reported without rehearsal. */
    private static final long REHEARSAL_DELAY_MILLIS = 100;

    private final FailureReport report;
    private final JobAbort abort;
    private final UncaughtExceptions uncaught;
    private final ExitHook exitHook;
    private boolean hooked;
    /** Null while there is none. */
    private Thread.UncaughtExceptionHandler handler;

    private Thread.UncaughtExceptionHandler previous;
    /** Null until this rank has joined. */
    private volatile JobMember membership;

    public EndProcess(FailureReport report) {
        this.report = report;
        this.abort = new JobAbort(report);
        this.uncaught = new UncaughtExceptions(report, abort);
        this.exitHook = new ExitHook(report, abort, uncaught::hasThrown);
    }

    /**
     * Watches this process for as long as it lives: uncaught exceptions in any thread, and exits with
     * the context still open. Called again after a shutdown, for the next context.
     */
    @Override
    public void joined(JobMember watched) {
        follow(watched);
        exitHook.initRefused(false);
        hook();
        handle(watched.config().process().uncaughtHandler() && !watched.isAlone());
        if (!watched.isAlone()) {
            JobAbort.daemon(this::rehearseLater, "hvd-guard-rehearsal").start();
        }
    }

    /** Leaves the processor to the other ranks of this machine, which are about to join as well. */
    private void rehearseLater() {
        try {
            Thread.sleep(REHEARSAL_DELAY_MILLIS);
        } catch (InterruptedException e) {
            return; // only the end of the JVM interrupts this thread
        }
        JobMember watched = membership;
        if (watched != null && watched.isOpen()) {
            rehearse(watched);
        }
    }

    /** Does once, while nothing is wrong, the work that takes longest the first time. */
    private void rehearse(JobMember watched) {
        report.announce();
        ExitCause.find();
        new MemberView(watched).living();
    }

    /** Speaks for one of several ranks of this process; another guard watches the process. */
    public void follow(JobMember followed) {
        membership = followed;
    }

    /** Whether this process is a rank of a job, or one of its threads is, at the moment. */
    public boolean isInJob() {
        JobMember watched = membership;
        return watched != null && watched.isOpen();
    }

    /** The body of a rank that is a thread has thrown, which ends the job; if it was over, nothing is left to end. */
    public void threw(Thread thread, Throwable cause) {
        uncaught.handle(null, membership, thread, cause);
    }

    @Override
    public void notJoined(HvdConfig config, Throwable cause) {
        exitHook.initRefused(true);
        uncaught.notJoined(cause);
        handle(config.process().uncaughtHandler() && config.started().byLauncher());
        hook();
    }

    private synchronized void hook() {
        if (!hooked) {
            hooked = true;
            Runtime.getRuntime().addShutdownHook(new Thread(() -> exitHook.run(membership), "hvd-exit"));
        }
    }

    /** Sets the handler, or takes away that of an earlier job unless the program has set its own since. */
    private synchronized void handle(boolean wanted) {
        if (wanted && handler == null) {
            previous = Thread.getDefaultUncaughtExceptionHandler();
            Thread.UncaughtExceptionHandler before = previous;
            handler = (thread, cause) -> uncaught.handle(before, membership, thread, cause);
            Thread.setDefaultUncaughtExceptionHandler(handler);
        } else if (!wanted && handler != null && Thread.getDefaultUncaughtExceptionHandler() == handler) {
            Thread.setDefaultUncaughtExceptionHandler(previous);
            handler = null;
        }
    }

    @Override
    public void placed(Topology topology) {
        report.speakFor(topology);
    }

    /** Never: connections that ended early would be taken for the cause. */
    @Override
    public boolean goesOn() {
        return false;
    }

    @Override
    public void failed(JobMember member, String why) {
        if (!member.isAlone()) {
            abort.leave(member, why);
        } // else every call that waits, and every later one, throws
    }

    /** Every rank has closed in order, so what the program has come to stands. */
    @Override
    public void heldUp(JobMember member, long millis) {
        LOG.warn(
                "MPI_Finalize has not returned within {} s although every rank has called it; {} ends without it."
                        + " A foreign connection to a port of Open MPI does that: see docs/reference/security.md",
                millis / 1_000,
                report.name());
    }

    /** The reporter's record is the cause that the launcher shows; stderr has had its summary. The others end when they are told. */
    @Override
    public void hangFound(JobMember member, HangReport hang) {
        report.quietly("the job hangs: " + hang.verdict() + "; all stacks: " + hang.file(), "hvd-monitor", false);
    }

    @Override
    public void hung(JobMember member, HangReport hang) {
        if (member.isAlone()) {
            abort.free(member, "the job hangs: " + hang.verdict() + "; all stacks: " + hang.file());
        } else {
            abort.hung(member, hang);
        }
    }

    public void noteHang(JobMember member, HangReport hang) {
        abort.noteHang(member, hang);
    }

    /** This process goes on to a job that is not watched: an exit or an exception is the program's own from now on. */
    public void standDown() {
        membership = null;
        handle(false);
    }

    /** Ends this process at once, without any hook. */
    static void halt() {
        OutputLines.lastWords();
        Runtime.getRuntime().halt(JobAbort.EXIT_CODE);
    }

    /** Ends this process in order, with its hooks. */
    static void exit() {
        System.exit(JobAbort.EXIT_CODE);
    }
}
