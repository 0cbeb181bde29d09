package io.hvd.transport.mpi.openmpi;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongConsumer;

/** Ends MPI after the last job of this process, and goes on without it where it does not return in time. */
public final class MpiFinalization {
    /** Time for MPI_Finalize, counted from when every rank is about to call it. It takes a fraction of a second. */
    private static final long LIMIT_MILLIS = 10_000;
    /** Additional time for each rank of a large job. */
    private static final long LIMIT_MILLIS_PER_RANK = 10;

    /** The end of MPI in this process. */
    public interface Mpi {
        /** The thread that has started MPI and makes all calls. */
        Executor thread();

        /**
         * Waits on that thread until every rank of the job is about to call {@link #finish}, which may take as long as a
         * rank works on alone. Further calls return the same result at once.
         *
         * @return whether all ranks are; false if a rank is gone, or if there is no way to tell
         */
        boolean meet();

        /**
         * This rank's process is about to end, after {@link #finish}. The thread that ends the process calls this.
         *
         * @param well whether the exit code is zero
         * @param waits whether this call waits for all ranks to come here, because {@link #finish} has not returned
         * @param limit how long it may stay for others that wait, if it does not wait itself
         * @return true if it has waited, and the processes of all ranks are about to end with exit code zero
         */
        boolean leave(boolean well, boolean waits, Duration limit);

        /** Calls MPI_Finalize, after every rank has closed its last context. */
        void finish();
    }

    private final Mpi mpi;
    private final long limitMillis;
    private boolean begun;
    /** Whether every rank of the job has come to the end of MPI. */
    private volatile boolean met;
    /** Whether MPI_Finalize has not returned in time. */
    private volatile boolean heldUp;

    public static MpiFinalization of(Mpi mpi, int ranks) {
        return new MpiFinalization(mpi, LIMIT_MILLIS + LIMIT_MILLIS_PER_RANK * ranks);
    }

    /** @param limitMillis the limit for the end of MPI, counted from when every rank is about to call it */
    MpiFinalization(Mpi mpi, long limitMillis) {
        this.mpi = mpi;
        this.limitMillis = limitMillis;
    }

    /**
     * Ends MPI on the thread that started it. A rank that still works is waited for; once all have come here, MPI has a
     * limit, for a foreign connection to one of Open MPI's ports can hold it up for ever. Only the first call does
     * anything.
     *
     * @param onHeldUp told the limit in milliseconds if it has passed
     */
    public synchronized void run(LongConsumer onHeldUp) {
        if (begun) {
            return;
        }
        begun = true;
        Executor thread = mpi.thread();
        met = CompletableFuture.supplyAsync(mpi::meet, thread).join();
        CompletableFuture<Void> finalized = CompletableFuture.runAsync(mpi::finish, thread);
        if (!met) {
            finalized.join();
            return;
        }
        if (!isDoneWithin(finalized, limitMillis)) {
            heldUp = true;
            onHeldUp.accept(limitMillis);
        }
    }

    /** An interrupt is for the program; leaving MPI half-way would make a failure of it. */
    private static boolean isDoneWithin(CompletableFuture<Void> task, long millis) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    task.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                    return true;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new CompletionException(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Whether every rank of the job has come to the end of MPI, so that one that is gone has not failed. */
    public boolean hasMet() {
        return met;
    }

    /**
     * This rank's process ends in order. On the thread that ends it.
     *
     * @param well whether with exit code zero
     * @return whether the processes of all ranks are about to end well although MPI_Finalize has not returned here
     */
    public boolean leave(boolean well) {
        return mpi.leave(well, heldUp, Duration.ofMillis(2 * limitMillis));
    }
}
