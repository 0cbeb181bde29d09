package io.hvd.job;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.StartupHook;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The startup hooks of this process on a thread of their own, so that the back end starts meanwhile: most of what either does
 * is waiting for the disk or for other ranks.
 */
final class StartupHooks {
    private final CompletableFuture<Void> end;

    /** @param end of the hooks */
    StartupHooks(CompletableFuture<Void> end) {
        this.end = end;
    }

    /** Begins to run them. */
    static StartupHooks begin() {
        var hooks = new StartupHooks(new CompletableFuture<>());
        Thread thread = new Thread(hooks::run, "hvd-startup");
        thread.setDaemon(true);
        thread.start();
        return hooks;
    }

    /** The hooks of a process in which they have run already. */
    static StartupHooks over() {
        return new StartupHooks(CompletableFuture.completedFuture(null));
    }

    private void run() {
        try {
            ServiceLoader.load(StartupHook.class).forEach(StartupHook::beforeInit);
            end.complete(null);
        } catch (Throwable thrown) {
            end.completeExceptionally(thrown);
        }
    }

    /** Waits for their end; any thread may, and throws what a hook has thrown. */
    void await() {
        try {
            end.join();
        } catch (CompletionException e) {
            throw thrown(e.getCause());
        }
    }

    /**
     * The same, no longer than a limit. An interrupt ends the wait and stays set, so that the exchange that follows ends by it.
     */
    boolean haveEnded(long limitMillis) {
        try {
            end.get(limitMillis, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } catch (ExecutionException e) {
            throw thrown(e.getCause());
        }
    }

    private static RuntimeException thrown(Throwable cause) {
        return cause instanceof RuntimeException known
                ? known
                : new HvdException(ErrorId.INIT_FAILED, "a startup hook failed: " + cause, cause);
    }

    /** Waits for their end where init fails for another reason, so that they do not go on behind the program's back. */
    void awaitAfter(Throwable failure) {
        try {
            await();
        } catch (RuntimeException e) {
            failure.addSuppressed(e);
        }
    }
}
