package io.hvd.spark;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import java.time.Duration;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.TaskResourceRequest;

/**
 * The places for tasks that an application has: a barrier stage needs one for each rank at once. Spark itself looks for ten
 * minutes before it says that there are too few. Used by the thread that waits for the job.
 */
final class Slots {
    private static final String DYNAMIC = "spark.dynamicAllocation.enabled";
    private static final long PAUSE_MILLIS = 100;

    private final SparkContext context;
    private final ResourceProfile profile;
    private final String call;
    private final int ranks;
    private final Duration limit;
    /** When there were too few for the first time since there were enough. */
    private long missingSince;

    private boolean missing;

    /**
     * @param call the job that needs them, for messages
     * @param limit the time for which they may be missing
     */
    Slots(SparkContext context, ResourceProfile profile, String call, int ranks, Duration limit) {
        this.context = context;
        this.profile = profile;
        this.call = call;
        this.ranks = ranks;
        this.limit = context.isLocal() ? Duration.ZERO : limit;
    }

    /** @throws HvdException if executors come and go as Spark likes */
    void requireFixed() {
        if (!context.isLocal()) {
            requireFixed(context.getConf(), ranks, call);
        }
    }

    /** Whether executors come and go as Spark likes. */
    static boolean areDynamic(SparkConf conf) {
        return conf.getBoolean(DYNAMIC, false);
    }

    static void requireFixed(SparkConf conf, int ranks, String call) {
        if (areDynamic(conf)) {
            throw new HvdException(
                    ErrorId.BAD_SETTING,
                    call + " needs executors that stay for " + ranks + " tasks at once, but " + DYNAMIC
                            + " is true, and Spark runs no barrier stage then: set it to false, and ask for executors"
                            + " with spark.executor.instances (YARN, Kubernetes) or spark.cores.max (standalone)");
        }
    }

    /**
     * Waits until there are enough.
     *
     * @throws HvdException that names the numbers if there are not within the limit
     */
    void await() {
        while (!look()) {
            pause();
        }
    }

    /**
     * Whether there are enough.
     *
     * @throws HvdException that names the numbers if there have not been for longer than the limit
     */
    boolean look() {
        int slots = context.maxNumConcurrentTasks(profile);
        if (slots >= ranks) {
            missing = false;
            return true;
        }
        if (!missing) {
            missing = true;
            missingSince = System.nanoTime();
        }
        if (System.nanoTime() - missingSince >= limit.toNanos()) {
            throw new HvdException(ErrorId.BAD_SETTING, tooFew(slots));
        }
        return false;
    }

    private void pause() {
        try {
            Thread.sleep(PAUSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ShutdownException(call + " was cancelled while it waited for executors", e);
        }
    }

    private String tooFew(int slots) {
        int executors = context.statusTracker().getExecutorInfos().length;
        String where = context.isLocal() ? "in " + context.master() : "on " + (executors - 1) + " executors";
        return call + " needs " + ranks + " slots at once, but the application has " + slots + " " + where
                + (limit.isZero() ? "" : " after " + limit.toSeconds() + " s (slotLimit)")
                + ", with spark.task.cpus=" + context.getConf().get("spark.task.cpus", "1") + " and "
                + context.getConf().get("spark.executor.cores", "all") + " cores of each executor"
                + gpus() + ": ask for at most " + slots + " ranks, or for more executors or cores";
    }

    private String gpus() {
        TaskResourceRequest gpus = profile.taskResourcesJMap().get(TaskFacts.GPU);
        return gpus == null ? "" : ", and " + gpus.amount() + " GPUs for each task";
    }
}
