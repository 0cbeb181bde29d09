package io.hvd.data;

import io.hvd.log.HvdLogger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The worker threads of one loader: daemons named {@code hvd-loader-<n>}, started when there is work.
 *
 * <p>A worker without work ends after a while. So a loader that is dropped without being closed leaves no thread, and
 * one whose training step takes longer than that pays for a new thread, which is nothing beside the step.
 */
final class LoaderThreads implements Executor, AutoCloseable {

    private static final HvdLogger LOG = HvdLogger.of(LoaderThreads.class);

    private static final Duration IDLE = Duration.ofSeconds(2);
    private static final Duration PATIENCE = Duration.ofSeconds(1);
    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final ThreadPoolExecutor pool;
    private final List<Thread> threads = new ArrayList<>();
    private int started;

    LoaderThreads(int workers) {
        pool = new ThreadPoolExecutor(
                workers, workers, IDLE.toMillis(), TimeUnit.MILLISECONDS, new LinkedBlockingQueue<>(), this::thread);
        pool.allowCoreThreadTimeOut(true);
        // Work that comes after the close belongs to an epoch that the close has ended.
        pool.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    }

    @Override
    public void execute(Runnable work) {
        pool.execute(work);
    }

    /**
     * Returns when no worker is alive any more. A worker finishes the sample it is reading; only one that takes longer
     * than a second is interrupted, because an interrupt closes the file channels it reads from. After ten more seconds
     * the worker is left behind, with a warning.
     */
    @Override
    public void close() {
        pool.shutdown();
        try {
            if (!join(PATIENCE)) {
                pool.shutdownNow();
                if (!join(LIMIT)) {
                    LOG.warn("still busy {} s after the loader was closed: {}", LIMIT.toSeconds(), alive());
                }
            }
        } catch (InterruptedException e) {
            pool.shutdownNow();
            Thread.currentThread().interrupt();
        }
    }

    private synchronized Thread thread(Runnable work) {
        threads.removeIf(thread -> thread.getState() == Thread.State.TERMINATED);
        var thread = new Thread(work, "hvd-loader-" + started++);
        thread.setDaemon(true);
        threads.add(thread);
        return thread;
    }

    private boolean join(Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        for (Thread thread : alive()) {
            TimeUnit.NANOSECONDS.timedJoin(thread, deadline - System.nanoTime());
        }
        return alive().isEmpty();
    }

    private synchronized List<Thread> alive() {
        return threads.stream().filter(Thread::isAlive).toList();
    }
}
