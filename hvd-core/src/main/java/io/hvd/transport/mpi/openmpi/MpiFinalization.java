package io.hvd.transport.mpi.openmpi;

import io.hvd.spi.BackendProvider;
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

    private final BackendProvider provider;
    private final long limitMillis;
    private boolean begun;
    /** Whether every rank of the job has come to the end of MPI. */
    private volatile boolean met;
    /** Whether MPI_Finalize has not returned in time. */
    private volatile boolean heldUp;

    public static MpiFinalization of(BackendProvider provider, int ranks) {
        return new MpiFinalization(provider, LIMIT_MILLIS + LIMIT_MILLIS_PER_RANK * ranks);
    }

    /** @param limitMillis the limit for the end of MPI, counted from when every rank is about to call it */
    MpiFinalization(BackendProvider provider, long limitMillis) {
        this.provider = provider;
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
        Executor thread = provider.communicationThread();
        met = CompletableFuture.supplyAsync(provider::meet, thread).join();
        CompletableFuture<Void> finalized = CompletableFuture.runAsync(provider::finish, thread);
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
        return provider.leave(well, heldUp, Duration.ofMillis(2 * limitMillis));
    }
}
