package io.hvd.job.failure;

import io.hvd.spi.Topology;
import io.hvd.transport.mpi.MpiProcess;
import io.hvd.transport.mpi.openmpi.LauncherLimit;
import io.hvd.transport.mpi.openmpi.MpiFinalization;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/** The end of a process whose rank has left its job in order: the end of MPI, and a limit for the launcher. */
final class OrderlyExit {
    /** How often a rank that waits in MPI_Finalize checks whether the other ranks still live. */
    private static final long LOOK_MILLIS = 500;
    /**
     * Time for the end of MPI once a rank of this host is gone, since that rank may have finalized MPI before this one.
     */
    private static final long FINISH_MILLIS = 5_000;

    private final FailureReport report;
    private final BooleanSupplier hasThrown;

    OrderlyExit(FailureReport report, BooleanSupplier hasThrown) {
        this.report = report;
        this.hasThrown = hasThrown;
    }

    /** Runs in the exit hook. */
    void run(JobMember member) {
        finishWhatShutdownLeft(member);
        boolean well = endsWell();
        if (member.finalization().map(mpi -> mpi.leave(well)).orElse(false)) {
            endWellWithoutMpi(member);
        }
        Topology topology = member.topology();
        if (MpiProcess.ofThisProcess().isStarted() && topology.localRank() == 0) {
            LauncherLimit.beginAfterTheRanks(topology.localSize() == topology.size());
        }
    }

    /** Whether the process ends with exit code zero. In the exit hook. */
    boolean endsWell() {
        return ExitCause.find().byReturn() && !hasThrown.getAsBoolean();
    }

    /**
     * After shutdown() on all ranks MPI is still up. Its end waits for every rank's, and one that works on alone, as on
     * its last checkpoint, may take its time; only the death of a rank is a reason not to wait. The launcher notices
     * that of a rank on another host. Once the last rank has come, there is a limit.
     */
    private static void finishWhatShutdownLeft(JobMember member) {
        FutureTask<Void> finish = new FutureTask<>(member::finish, null);
        JobAbort.daemon(finish, "hvd-finish").start();
        try {
            while (!endsWithin(finish, LOOK_MILLIS)) {
                List<Integer> gone =
                        member.finalization().map(MpiFinalization::hasMet).orElse(true)
                                ? List.of()
                                : member.monitor().dead();
                if (!gone.isEmpty() && !endsWithin(finish, FINISH_MILLIS)) {
                    JobAbort.abort();
                }
            }
        } catch (ExecutionException e) {
            JobAbort.abort();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean endsWithin(FutureTask<Void> finish, long millis)
            throws ExecutionException, InterruptedException {
        try {
            finish.get(millis, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        }
    }

    /**
     * Open MPI 4.1 takes a process that ends without MPI_Finalize for a failure, but not MPI_Abort with code zero. That
     * may be held up as well, which is no reason to stay.
     */
    private void endWellWithoutMpi(JobMember member) {
        Thread abort = JobAbort.daemon(
                () -> {
                    report.goodEnd();
                    MpiProcess.ofThisProcess().abort(0);
                },
                "hvd-end");
        abort.start();
        try {
            abort.join(FINISH_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
