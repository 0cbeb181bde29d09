package io.hvd.spark;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkException;

/**
 * Why a barrier stage has failed, as Spark tells it: by the failure of the task that it has heard of first.
 *
 * @param call the job, for messages
 */
record StageFailure(String call, SparkException cause) {
    private static final Pattern TASK = Pattern.compile(
            "(?:finished unsuccessfully\\.|most recent failure: Lost task [^(]*\\([^)]*\\) \\([^)]*\\):)\\s*(?:"
                    + HvdException.class.getName().replace(".", "\\.") + ": \\[[^]]*] )?(\\S[^\\n]*)");
    private static final String HANG = "the job hangs";
    private static final List<String> LOSSES = List.of(
            "ExecutorLostFailure",
            "FetchFailed",
            "heartbeat",
            "Executor lost",
            "executor lost",
            "Worker lost",
            // what a rank says that has lost another one, of which Spark has not heard yet
            ShutdownException.class.getName(),
            RankTask.IN_CONSEQUENCE);

    /** Whether an executor was lost, and no rank has failed by itself. A job that hangs would do it again. */
    boolean isLoss() {
        return LOSSES.stream().anyMatch(words()::contains) && !words().contains(HANG);
    }

    /** The failure in one line. */
    String words() {
        Matcher task = TASK.matcher(String.valueOf(cause.getMessage()));
        return task.find() ? task.group(1) : withReason();
    }

    private String withReason() {
        String first = firstLine(String.valueOf(cause.getMessage()));
        return cause.getCause() == null
                ? first
                : first + ": " + firstLine(cause.getCause().toString());
    }

    private static String firstLine(String text) {
        return text.lines().findFirst().orElse("");
    }

    HvdException exception() {
        return new HvdException(ErrorId.JOB_FAILED, call + " has failed: " + words(), cause);
    }
}
