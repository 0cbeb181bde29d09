package io.hvd.job.failure;

import io.hvd.error.FailureRecord;
import java.util.Collection;
import java.util.function.BooleanSupplier;

/**
 * The last work of a process for its job: it ends MPI if the rank has left in order, and says why if it has not.
 * MPI_Finalize is never called here while the context is open: it would hang.
 */
final class ExitHook {
    private final FailureReport report;
    private final JobAbort abort;
    private final OrderlyExit orderly;
    private volatile boolean initRefused;

    /** @param hasThrown whether a thread has ended by an exception */
    ExitHook(FailureReport report, JobAbort abort, BooleanSupplier hasThrown) {
        this.report = report;
        this.abort = abort;
        this.orderly = new OrderlyExit(report, hasThrown);
    }

    /** Whether this process could not join another job after its last one. */
    void initRefused(boolean refused) {
        initRefused = refused;
    }

    /** @param member null if this process has never joined */
    void run(JobMember member) {
        if (member == null) {
            return;
        }
        if (!member.isOpen() && member.failure().isEmpty()) {
            if (!initRefused || orderly.endsWell()) {
                orderly.run(member);
            } // else the end of MPI would wait for ranks that wait for this one in their init; the launcher ends them
            return;
        }
        if (member.isAlone()) {
            return;
        }
        ExitCause cause = ExitCause.find();
        if (cause.signal()) {
            endedBySignal(member);
        } else if (!member.failure().isEmpty()) {
            // The program has caught what it was told, or has returned from close(). Its exit status stays its own.
            abort.sayWhy(member, member.failure());
        } else {
            endedTooEarly(member, cause);
        }
    }

    /** The exit status stays the program's own; the launcher and the other ranks end the job. */
    private void endedTooEarly(JobMember member, ExitCause cause) {
        String why = cause.sentence() + " before HvdContext.close(), so the other ranks would wait for ever";
        report.failure(why, cause.thread(), cause.excerpt(), cause.stack(), FailureRecord.EARLY);
        abort.tell(member, why);
    }

    /**
     * Handles a signal from outside: from mpirun, because a rank has failed, or from the user. In the first case this
     * rank leaves its record and stays until all ranks of this host have left theirs: when the first process ends,
     * mpirun wakes up and kills the others.
     */
    private void endedBySignal(JobMember member) {
        String heard = member.awaitFailure();
        String why = heard.isEmpty() ? whoIsMissing(member) : heard;
        if (!why.isEmpty()) {
            abort.sayWhy(member, why);
        }
    }

    /**
     * Asks the monitor, because a thread inside MPI, and so the engine, is not told of the death of a rank or a host.
     */
    private static String whoIsMissing(JobMember member) {
        Collection<Integer> lost = member.monitor().dead();
        if (!lost.isEmpty()) {
            return "the processes of ranks " + lost + " on this host are gone";
        }
        return member.monitor().silentHosts().entrySet().stream()
                .map(host -> "host " + host.getKey() + " with ranks " + host.getValue() + " gives no sign of life")
                .findFirst()
                .orElse("");
    }
}
