package io.hvd.job;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.StartupHook;
import java.util.concurrent.locks.LockSupport;

/**
 * Does nothing unless {@link StartupHookIT} asks for it by a property: it waits for the thread that starts MPI, which would never
 * come if hooks ran before it, and throws on one rank.
 */
public final class WaitingHook implements StartupHook {
    static final String WAITS = "hvd.test.hook.waits";
    static final String FAILING_RANK = "hvd.test.hook.failing";

    private static final String MPI_THREAD = "hvd-engine-mpi";
    private static final long LIMIT_NANOS = 60_000_000_000L;
    private static final long LOOK_AGAIN_NANOS = 1_000_000;

    @Override
    public void beforeInit() {
        if (Boolean.getBoolean(WAITS)) {
            awaitMpisThread();
        }
        if (System.getProperty(FAILING_RANK, "none").equals(System.getenv("OMPI_COMM_WORLD_RANK"))) {
            throw new HvdException(ErrorId.INIT_FAILED, "no library for this rank");
        }
    }

    private static void awaitMpisThread() {
        long end = System.nanoTime() + LIMIT_NANOS;
        while (Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().equals(MPI_THREAD))) {
            if (System.nanoTime() > end) {
                throw new HvdException(ErrorId.INIT_FAILED, "MPI does not start before the hook has ended");
            }
            LockSupport.parkNanos(LOOK_AGAIN_NANOS);
        }
        System.out.println("MPI starts beside the hook");
    }
}
