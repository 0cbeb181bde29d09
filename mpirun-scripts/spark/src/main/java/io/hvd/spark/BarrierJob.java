package io.hvd.spark;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfileBuilder;
import org.apache.spark.resource.TaskResourceRequests;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** A job as the driver sees it: one barrier stage, or another one after each loss of an executor. */
final class BarrierJob {
    private static final HvdLogger LOG = HvdLogger.of(BarrierJob.class);

    private final JavaSparkContext context;
    private final SparkOptions options;
    private final String call;
    private final ResourceProfile profile;

    /** @param call the method that the user has called, for messages */
    BarrierJob(JavaSparkContext context, SparkOptions options, String call) {
        this.context = context;
        this.options = options;
        this.call = call + " of " + options.ranks() + " ranks";
        this.profile = profile();
        requireSlots();
    }

    /** What each task needs: what the application says, or GPUs of its own. */
    private ResourceProfile profile() {
        var manager = context.sc().resourceProfileManager();
        if (options.gpusPerRank() == 0) {
            return manager.defaultResourceProfile();
        }
        ResourceProfile ofGpus = new ResourceProfileBuilder()
                .require(new TaskResourceRequests().resource(RankTask.GPU, options.gpusPerRank()))
                .build();
        manager.addResourceProfile(ofGpus);
        return ofGpus;
    }

    /** @throws HvdException if the application cannot run all ranks at once */
    private void requireSlots() {
        new Slots(context.sc(), profile, call).require(options.ranks(), options.slotLimit());
    }

    <T, R> List<R> run(JavaRDD<T> rows, PartitionBody<T, R> body) {
        for (int restarts = 0; ; restarts++) {
            try {
                return attempt(rows, new RankTask<>(options, JobSecret.random(), body));
            } catch (SparkException e) {
                StageFailure failure = new StageFailure(call, e);
                if (restarts == options.restarts() || !failure.isLoss()) {
                    throw failure.exception();
                }
                LOG.warn(
                        "an executor was lost, and the job begins anew, for the {}. of {} times: {}",
                        restarts + 1,
                        options.restarts(),
                        failure.words());
            }
            requireSlots();
        }
    }

    private <T, R> List<R> attempt(JavaRDD<T> rows, RankTask<T, R> task) throws SparkException {
        RDD<T> partitions = profile.id() == ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID()
                ? rows.rdd()
                : rows.rdd().withResources(profile);
        ClassTag<byte[]> bytes = ClassTag$.MODULE$.apply(byte[].class);
        JavaRDD<byte[]> results =
                partitions.barrier().mapPartitions(task, false, bytes).toJavaRDD();
        String tag = "hvd-" + UUID.randomUUID();
        context.sc().addJobTag(tag);
        try {
            return collect(results);
        } catch (InterruptedException e) {
            context.sc().cancelJobsWithTag(tag);
            Thread.currentThread().interrupt();
            throw new HvdException(
                    ErrorId.SHUT_DOWN,
                    call + " was cancelled: thread " + Thread.currentThread().getName()
                            + ", which waits for it, was interrupted",
                    e);
        } finally {
            context.sc().removeJobTag(tag);
        }
    }

    /** Scala's methods throw checked exceptions without saying so. */
    @SuppressWarnings("unchecked")
    private static <R> List<R> collect(JavaRDD<byte[]> results) throws SparkException, InterruptedException {
        List<R> ofRanks = new ArrayList<>();
        for (byte[] result : results.collect()) {
            ofRanks.add((R) RankResult.decode(result)); // what the body of that rank has returned
        }
        return ofRanks;
    }
}
