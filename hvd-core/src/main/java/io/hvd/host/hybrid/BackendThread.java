package io.hvd.host.hybrid;

import io.hvd.error.ShutdownException;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Transfers;
import io.hvd.spi.Transfers.Transfer;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The thread that owns the back end between the processes and works for the ranks of its JVM. It makes the calls that
 * they ask for one after the other, and carries out their transfers side by side, so that no rank's transfer waits for
 * one that another rank has begun.
 *
 * <p>A call may wait for the other processes only in an operation of all ranks, after all threads of this JVM have come
 * to it: none of them then has a transfer under way. Collectives among some of the threads use transfers.
 */
final class BackendThread {
    /** How long it looks after transfers before it rests, in nanoseconds. */
    private static final long BUSY_NANOS = 1_000_000;

    private static final long SHORTEST_REST_NANOS = 20_000;
    private static final long LONGEST_REST_NANOS = 500_000;

    private final BlockingQueue<Runnable> orders = new LinkedBlockingQueue<>();
    private final Set<CompletableFuture<?>> awaited = ConcurrentHashMap.newKeySet();
    private volatile String broken = "";
    /** Only the back end's thread uses the following fields. */
    private final List<TransferBatch> underWay = new ArrayList<>();

    private LongSupplier progress = () -> Long.MAX_VALUE;
    private boolean ended;
    private long quietSince;
    private long rest;

    private BackendThread() {}

    /** @param owner runs it until {@link #end}, and nothing else meanwhile */
    static BackendThread start(Executor owner) {
        BackendThread backendThread = new BackendThread();
        owner.execute(backendThread::run);
        return backendThread;
    }

    /** @param todo called on the back end's thread before it rests; returns for how many nanoseconds it may rest */
    void beforeRest(LongSupplier todo) {
        progress = todo;
    }

    /**
     * Has the back end's thread call {@code work}, and waits for its result. Any other thread may call this.
     */
    <T> T call(Supplier<T> work) {
        CompletableFuture<T> result = new CompletableFuture<>();
        order(result, work(result, work));
        return await(result);
    }

    /** Has the back end's thread call {@code work}, and does not wait for it. */
    Completion begin(Runnable work) {
        CompletableFuture<Void> end = new CompletableFuture<>();
        order(end, work(end, () -> {
            work.run();
            return null;
        }));
        return () -> {
            if (!end.isDone()) {
                return false;
            }
            await(end);
            return true;
        };
    }

    private static <T> Runnable work(CompletableFuture<T> result, Supplier<T> work) {
        return () -> {
            try {
                result.complete(work.get());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        };
    }

    /** A rank's half of a transfer with another rank's. */
    record TransferHalf(boolean outgoing, ByteBuffer bytes, int process, int tag) {
        Transfer start(Transfers transfers) {
            return outgoing ? transfers.send(bytes, process, tag) : transfers.receive(bytes, process, tag);
        }
    }

    /** Starts all transfers and waits until they are done; those of other threads go on meanwhile. */
    void transfer(Transfers transfers, List<TransferHalf> halves) {
        if (halves.isEmpty()) {
            return;
        }
        CompletableFuture<Void> arrival = new CompletableFuture<>();
        order(arrival, () -> {
            try {
                List<Transfer> started = new ArrayList<>();
                halves.forEach(half -> started.add(half.start(transfers)));
                underWay.add(new TransferBatch(started, arrival));
            } catch (Throwable e) {
                arrival.completeExceptionally(e);
            }
        });
        await(arrival);
    }

    /** Ends this thread's work; its owner is then free for other work. */
    void end() {
        orders.add(() -> ended = true);
    }

    /** Releases the threads that wait for work which may never be done. */
    void giveUp(String why) {
        broken = why;
        awaited.forEach(future -> future.completeExceptionally(new ShutdownException(why)));
    }

    private void order(CompletableFuture<?> result, Runnable order) {
        awaited.add(result);
        if (broken.isEmpty()) {
            orders.add(order);
        } else {
            result.completeExceptionally(new ShutdownException(broken));
        }
    }

    private <T> T await(CompletableFuture<T> result) {
        try {
            return result.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException known) {
                throw known;
            }
            throw e;
        } finally {
            awaited.remove(result);
        }
    }

    private void run() {
        try {
            while (!ended) {
                Runnable order = orders.poll(underWay.isEmpty() ? progress.getAsLong() : rest(), TimeUnit.NANOSECONDS);
                if (order != null) {
                    order.run();
                    quietSince = System.nanoTime();
                }
                if (underWay.removeIf(TransferBatch::hasArrived)) {
                    quietSince = System.nanoTime();
                }
            }
        } catch (InterruptedException e) {
            giveUp("the thread that owns the back end between the processes was interrupted");
        } catch (RuntimeException e) {
            giveUp("the thread that owns the back end between the processes failed: " + e.getMessage());
            throw e;
        }
    }

    private long rest() {
        if (System.nanoTime() - quietSince < BUSY_NANOS) {
            rest = SHORTEST_REST_NANOS;
            Thread.yield();
            return 0;
        }
        rest = Math.min(LONGEST_REST_NANOS, rest * 2);
        return rest;
    }

    /** Transfers that a thread waits for together. */
    private record TransferBatch(List<Transfer> transfers, CompletableFuture<Void> arrival) {
        boolean hasArrived() {
            try {
                transfers.removeIf(Transfer::isDone);
                if (transfers.isEmpty()) {
                    arrival.complete(null);
                }
            } catch (RuntimeException e) {
                arrival.completeExceptionally(e);
            }
            return arrival.isDone();
        }
    }
}
