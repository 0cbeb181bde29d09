package io.hvd;

import io.hvd.error.ShutdownException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Sees to it that a job never outlives one of its ranks: a rank that throws or exits says why, tells
 * the others and ends them all. MPI alone notices neither an exception in a background thread nor,
 * while other threads live, one in main.
 */
final class JobGuard {
    private static final long TELL_MILLIS = 500;
    /** mpirun ends the survivors of a dead rank within 1.6 s; only if it does not, they end themselves. */
    private static final long GRACE_MILLIS = 2_500;

    private static final long FINISH_MILLIS = 5_000;
    private static final int EXIT_CODE = 1;

    private final FailureNotice report;
    private final AtomicBoolean failing = new AtomicBoolean();
    private volatile Membership membership;

    JobGuard(FailureNotice report) {
        this.report = report;
    }

    /**
     * Watches this process for as long as it lives: uncaught exceptions in any thread, and exits with
     * the context still open. Called again after a shutdown, for the next context.
     */
    void watch(Membership watched) {
        boolean first = membership == null;
        membership = watched;
        report.speakFor(watched.topology());
        if (first) {
            install();
        }
    }

    private void install() {
        Thread.UncaughtExceptionHandler previous = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((thread, cause) -> uncaught(previous, thread, cause));
        Runtime.getRuntime().addShutdownHook(new Thread(this::exiting, "hvd-exit"));
    }

    /** The engine has learned that the job cannot go on. If nobody ends this process, it ends itself. */
    void jobFailed(String why) {
        Thread last = new Thread(
                () -> {
                    sleepForGrace();
                    report.failure("ended, because the job cannot go on: " + why, "hvd-guard", "", true);
                    abort(why);
                },
                "hvd-guard");
        last.setDaemon(true);
        last.start();
    }

    private void uncaught(Thread.UncaughtExceptionHandler previous, Thread thread, Throwable cause) {
        boolean consequence = isConsequence(cause);
        String why = "thread " + thread.getName() + " threw " + cause;
        report.failure(why, thread.getName(), stackOf(cause), consequence);
        if (consequence) {
            // If this process left first, mpirun would end the culprit before it has said what went wrong.
            sleepForGrace();
        }
        if (membership.isOpen()) {
            endJob(why);
        } else if (previous != null) {
            previous.uncaughtException(thread, cause);
        }
    }

    private boolean isConsequence(Throwable cause) {
        for (Throwable link = cause; link != null; link = link.getCause()) {
            if (link instanceof ShutdownException) {
                return true;
            }
        }
        return false;
    }

    private void endJob(String why) {
        if (failing.compareAndSet(false, true)) {
            membership.fail(report.sentence(why), TELL_MILLIS);
            abort(why);
        }
    }

    /** Ends this process in any case; where it is the only one of its job, nothing else would. */
    private void abort(String why) {
        membership.abort(EXIT_CODE, why);
        Runtime.getRuntime().halt(EXIT_CODE);
    }

    private static void sleepForGrace() {
        try {
            Thread.sleep(GRACE_MILLIS);
        } catch (InterruptedException e) {
            // Then at once.
        }
    }

    /** In the exit hook. MPI_Finalize is never called here while the context is open: it would hang. */
    private void exiting() {
        if (!membership.isOpen()) {
            finishWhatShutdownLeft();
            return;
        }
        ExitCause cause = ExitCause.find();
        if (cause.signal() || !membership.failure().isEmpty()) {
            return;
        }
        String why = cause.sentence() + " before HvdContext.close(), so the other ranks would wait for ever";
        report.failure(why, cause.thread(), cause.stack(), false);
        // The exit status stays the program's own; the launcher and the other ranks end the job.
        membership.fail(report.sentence(why), TELL_MILLIS);
    }

    /** After shutdown() on all ranks MPI is still up; ending it is a matter of milliseconds unless a rank has died since. */
    private void finishWhatShutdownLeft() {
        FutureTask<Void> finish = new FutureTask<>(membership::finish, null);
        Thread worker = new Thread(finish, "hvd-finish");
        worker.setDaemon(true);
        worker.start();
        try {
            finish.get(FINISH_MILLIS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            abort("MPI could not be ended in order: " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String stackOf(Throwable cause) {
        StringWriter text = new StringWriter();
        cause.printStackTrace(new PrintWriter(text));
        return text.toString();
    }
}
