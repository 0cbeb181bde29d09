package io.hvd.spark;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.stream.Stream;

/** The exception with which a rank's task fails. */
final class TaskFailure {
    private TaskFailure() {}

    /**
     * With the cause if that leaves the executor alone: Spark ends the executor of a task whose exception has an error among its
     * causes, such as a class that is missing, or an interrupt. Of such a cause it has the words and the stack.
     */
    static HvdException of(String who, Throwable cause) {
        String words = who + ": " + (cause instanceof HvdException known ? known.getMessage() : cause.toString());
        if (Stream.iterate(cause, one -> one != null, Throwable::getCause).noneMatch(TaskFailure::endsExecutor)) {
            return new HvdException(ErrorId.JOB_FAILED, words, cause);
        }
        HvdException alone = new HvdException(ErrorId.JOB_FAILED, words);
        alone.setStackTrace(cause.getStackTrace());
        return alone;
    }

    private static boolean endsExecutor(Throwable cause) {
        return cause instanceof Error || cause instanceof InterruptedException;
    }
}
