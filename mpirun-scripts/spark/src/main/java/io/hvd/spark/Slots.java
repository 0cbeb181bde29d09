package io.hvd.spark;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.log.HvdLogger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkExecutorInfo;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.TaskResourceRequest;

/**
 * The places for tasks that an application has: a barrier stage needs one for each rank at once. Spark itself looks for ten
 * minutes before it says that there are too few. Used by the thread that waits for the job.
 */
final class Slots {
    private static final HvdLogger LOG = HvdLogger.of(Slots.class);
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
        LOG.info("{} finds {}", call, found(context.maxNumConcurrentTasks(profile)));
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
        return call + " needs " + ranks + " slots at once, but the application has " + found(slots)
                + (limit.isZero() ? "" : " after " + limit.toSeconds() + " s (slotLimit)")
                + ", with spark.task.cpus=" + context.getConf().get("spark.task.cpus", "1") + " and "
                + context.getConf().get("spark.executor.cores", "all") + " cores of each executor"
                + gpus() + ": ask for at most " + slots + " ranks, or for more executors or cores";
    }

    /** Says on how many hosts ranks will be, so that a job is not on one of them unnoticed. */
    private String found(int slots) {
        if (context.isLocal()) {
            return slots + " in " + context.master();
        }
        List<String> hosts = new ArrayList<>();
        for (SparkExecutorInfo one : context.statusTracker().getExecutorInfos()) {
            hosts.add(one.host());
        }
        hosts.remove(context.getConf().get("spark.driver.host")); // the driver is one of them
        return slots + " on " + hosts.size() + " executors of "
                + Set.copyOf(hosts).size() + " host(s)";
    }

    private String gpus() {
        TaskResourceRequest gpus = profile.taskResourcesJMap().get(TaskFacts.GPU);
        return gpus == null ? "" : ", and " + gpus.amount() + " GPUs for each task";
    }
}
