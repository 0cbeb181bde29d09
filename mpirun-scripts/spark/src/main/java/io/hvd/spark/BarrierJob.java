package io.hvd.spark;

import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import java.util.List;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.resource.ResourceProfile;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** A job as the driver sees it: one barrier stage, or another one after each loss of an executor. */
final class BarrierJob {
    private static final HvdLogger LOG = HvdLogger.of(BarrierJob.class);

    private final SparkOptions options;
    private final String call;
    private final ResourceProfile profile;
    private final Slots slots;

    /** @param call the method that the user has called, for messages */
    BarrierJob(JavaSparkContext context, SparkOptions options, String call) {
        this.options = options;
        this.call = call + " of " + options.ranks() + " ranks";
        this.profile = Stage.profile(context, options);
        this.slots = new Slots(context.sc(), profile, this.call, options.ranks(), options.slotLimit());
        slots.requireFixed();
    }

    <T, R> List<R> run(JavaRDD<T> rows, PartitionBody<T, R> body) {
        slots.await();
        for (int restarts = 0; ; restarts++) {
            try {
                return attempt(rows, new RankTask<>(options, JobSecret.random(), body));
            } catch (SparkException e) {
                StageFailure failure = new StageFailure(call, e);
                if (restarts == options.restarts() || !failure.isLoss()) {
                    throw failure.exception();
                }
                LOG.warn(
                        "{}; an executor was lost, and the job begins anew, for the {}. of {} times",
                        failure.exception().words(),
                        restarts + 1,
                        options.restarts());
                awaitSlotsAfter(failure);
            }
        }
    }

    /** The executor that was lost may come again, or another one. */
    private void awaitSlotsAfter(StageFailure loss) {
        try {
            slots.await();
        } catch (HvdException tooFew) {
            tooFew.addSuppressed(loss.exception());
            throw tooFew;
        }
    }

    private <T, R> List<R> attempt(JavaRDD<T> rows, RankTask<T, R> task) throws SparkException {
        RDD<T> partitions = profile.id() == ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID()
                ? rows.rdd()
                : rows.rdd().withResources(profile);
        ClassTag<byte[]> bytes = ClassTag$.MODULE$.apply(byte[].class);
        JavaFutureAction<List<byte[]>> running = partitions
                .barrier()
                .mapPartitions(task, false, bytes)
                .toJavaRDD()
                .collectAsync();
        return new Stage(call, running).await(slots::look);
    }
}
