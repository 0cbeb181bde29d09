package io.hvd.train.checkpoint;

import io.hvd.error.HvdException;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** Does one task at a time on a thread of its own. What a task throws comes out of the next call. Any thread may call it. */
final class BackgroundWriter {
    /** Null before the first task. */
    private FutureTask<Void> task;

    synchronized boolean isBusy() {
        return task != null && !task.isDone();
    }

    /** Waits for the task before, and begins this one. */
    synchronized void begin(Callable<Void> next) {
        await();
        task = new FutureTask<>(next);
        Thread thread = new Thread(task, "hvd-checkpoint");
        thread.setDaemon(true); // close() waits for it; a program that fails does not
        thread.start();
    }

    /** Throws what the last task has thrown, once, if it has ended. */
    synchronized void requireNoFailure() {
        if (task != null && task.isDone()) {
            await();
        }
    }

    /** Waits for the end of the last task. */
    synchronized void await() {
        if (task == null) {
            return;
        }
        FutureTask<Void> ending = task;
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    ending.get();
                    return;
                } catch (InterruptedException e) {
                    interrupted = true; // half a checkpoint is none; the wait ends with the disk's write
                } catch (ExecutionException e) {
                    throw thrown(e.getCause());
                } catch (CancellationException e) {
                    throw new IllegalStateException(e); // nobody cancels it
                }
            }
        } finally {
            task = null;
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static RuntimeException thrown(Throwable cause) {
        return cause instanceof HvdException failure
                ? failure.seenHere()
                : new IllegalStateException("the thread that writes checkpoints has failed: " + cause, cause);
    }
}
