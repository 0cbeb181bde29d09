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
 * minutes before it says that there are too few.
 *
 * @param call the job that needs them, for messages
 */
record Slots(SparkContext context, ResourceProfile profile, String call) {
    private static final String DYNAMIC = "spark.dynamicAllocation.enabled";
    private static final long PAUSE_MILLIS = 100;

    /**
     * Waits until there are enough.
     *
     * @throws HvdException that names the numbers if there are not
     */
    void require(int ranks, Duration limit) {
        if (!context.isLocal()) {
            requireFixed(context.getConf(), ranks, call);
        }
        long begun = System.nanoTime();
        int slots = context.maxNumConcurrentTasks(profile);
        while (slots < ranks && !context.isLocal() && System.nanoTime() - begun < limit.toNanos()) {
            pause();
            slots = context.maxNumConcurrentTasks(profile);
        }
        if (slots < ranks) {
            throw new HvdException(ErrorId.BAD_SETTING, tooFew(slots, context.isLocal() ? Duration.ZERO : limit));
        }
    }

    /** @throws HvdException if executors come and go as Spark likes */
    static void requireFixed(SparkConf conf, int ranks, String call) {
        if (conf.getBoolean(DYNAMIC, false)) {
            throw new HvdException(
                    ErrorId.BAD_SETTING,
                    call + " needs executors that stay for " + ranks + " tasks at once, but " + DYNAMIC
                            + " is true, and Spark runs no barrier stage then: set it to false, and ask for executors"
                            + " with spark.executor.instances (YARN, Kubernetes) or spark.cores.max (standalone)");
        }
    }

    private void pause() {
        try {
            Thread.sleep(PAUSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ShutdownException(call + " was cancelled while it waited for executors", e);
        }
    }

    private String tooFew(int slots, Duration waited) {
        int executors = context.statusTracker().getExecutorInfos().length;
        String where = context.isLocal() ? "in " + context.master() : "on " + (executors - 1) + " executors";
        return call + " needs as many slots at once, but the application has " + slots + " " + where
                + (waited.isZero() ? "" : " after " + waited.toSeconds() + " s (slotLimit)")
                + ", with spark.task.cpus=" + context.getConf().get("spark.task.cpus", "1") + " and "
                + context.getConf().get("spark.executor.cores", "all") + " cores of each executor"
                + gpus() + ": ask for at most " + slots + " ranks, or for more executors or cores";
    }

    private String gpus() {
        TaskResourceRequest gpus = profile.taskResourcesJMap().get(RankTask.GPU);
        return gpus == null ? "" : ", and " + gpus.amount() + " GPUs for each task";
    }
}
