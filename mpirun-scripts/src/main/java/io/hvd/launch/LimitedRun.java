package io.hvd.launch;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The run of a job by a program that goes on afterwards: it may be limited in time, and nothing is left of it when the call
 * returns or throws, or when this process ends.
 */
final class LimitedRun {

    private LimitedRun() {}

    /**
     * Runs it to its end.
     *
     * @throws JobFailedException if it fails, or at the limit
     */
    static void of(RestartedJob launch, Optional<Duration> limit) throws IOException, InterruptedException {
        var over = new AtomicBoolean();
        var late = new AtomicBoolean();
        var hook = new Thread(launch::end, "hvd-launch-end");
        Runtime.getRuntime().addShutdownHook(hook);
        limit.ifPresent(time -> after(time).execute(() -> {
            if (over.compareAndSet(false, true)) {
                late.set(true);
                launch.end();
            }
        }));
        JobLaunch.End end;
        try {
            end = launch.run();
        } finally {
            if (over.compareAndSet(false, true)) {
                launch.stop();
            }
            forget(hook);
        }
        if (late.get()) {
            throw new JobFailedException("the job did not end within " + limit.get() + " and has been ended");
        }
        end.failure().ifPresent(failure -> {
            throw new JobFailedException(failure);
        });
    }

    private static Executor after(Duration time) {
        return CompletableFuture.delayedExecutor(time.toMillis(), TimeUnit.MILLISECONDS);
    }

    private static void forget(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            return; // this process is ending, and the hook runs
        }
    }
}
