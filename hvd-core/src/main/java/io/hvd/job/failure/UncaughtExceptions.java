package io.hvd.job.failure;

import io.hvd.error.ShutdownException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Objects;
import java.util.stream.Stream;

/** Ends the job when a thread of this process ends by an uncaught exception. */
final class UncaughtExceptions {
    private static final int RESERVE_BYTES = 1 << 20;

    private final FailureReport report;
    private final JobAbort abort;
    /** Memory that is freed when a thread has thrown, so that the failure can be reported even with a full heap. */
    private volatile byte[] reserve = new byte[RESERVE_BYTES];
    /** True if a thread has ended by an exception, which may show in the process's exit code. */
    private volatile boolean hasThrown;
    /** The exception that init threw; null if it did not. */
    private volatile Throwable notJoined;

    UncaughtExceptions(FailureReport report, JobAbort abort) {
        this.report = report;
        this.abort = abort;
    }

    boolean hasThrown() {
        return hasThrown;
    }

    /** Init is about to throw. The record is left now, because the program may catch it and end in its own way. */
    void notJoined(Throwable cause) {
        notJoined = cause;
        report.recordOnly(
                "init failed: " + Excerpt.summary(cause),
                Thread.currentThread().getName(),
                Excerpt.stack(cause),
                isConsequence(cause));
    }

    /**
     * On the thread that has thrown.
     *
     * @param previous the handler of a process that is in no job, or null
     * @param member null if this rank has not joined
     */
    void handle(Thread.UncaughtExceptionHandler previous, JobMember member, Thread thread, Throwable cause) {
        reserve = null;
        hasThrown = true;
        // Interrupted threads often throw; the waits for the other ranks' records must not end for that.
        boolean interrupted = Thread.interrupted();
        try {
            tell(previous, member, thread, cause);
        } catch (OutOfMemoryError full) {
            // Not even the reserve was enough; the launcher still sees the exit code, and the others the end.
            EndProcess.halt();
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void tell(Thread.UncaughtExceptionHandler previous, JobMember member, Thread thread, Throwable cause) {
        String why = "thread " + thread.getName() + " threw " + Excerpt.summary(cause);
        report(thread, cause, why);
        if (member != null && member.isOpen()) {
            abort.failed(member, why);
        } else if (isInitFailure(cause)) {
            // Other threads may live on, and would keep this process in the job.
            EndProcess.exit();
        } else if (previous != null) {
            previous.uncaughtException(thread, cause);
        }
    }

    private void report(Thread thread, Throwable cause, String why) {
        if (isConsequence(cause)) {
            report.consequence(why, thread.getName());
            abort.awaitLeaving();
        } else if (isInitFailure(cause)) {
            report.print(why, stackOf(cause));
        } else {
            report.failure(why, thread.getName(), Excerpt.stack(cause), stackOf(cause), JobAbort.EXIT_CODE);
        }
    }

    private static boolean isConsequence(Throwable cause) {
        return chain(cause).anyMatch(ShutdownException.class::isInstance);
    }

    /** The record of which has been left already. */
    private boolean isInitFailure(Throwable cause) {
        return chain(cause).anyMatch(link -> link == notJoined);
    }

    private static Stream<Throwable> chain(Throwable cause) {
        return Stream.iterate(cause, Objects::nonNull, Throwable::getCause);
    }

    private static String stackOf(Throwable cause) {
        StringWriter text = new StringWriter();
        cause.printStackTrace(new PrintWriter(text));
        return text.toString();
    }
}
