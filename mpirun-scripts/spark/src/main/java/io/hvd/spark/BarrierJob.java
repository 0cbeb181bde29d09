package io.hvd.spark;

import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.log.HvdLogger;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfileBuilder;
import org.apache.spark.resource.TaskResourceRequests;
import scala.Option;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** A job as the driver sees it: one barrier stage, or another one after each loss of an executor. */
final class BarrierJob {
    private static final HvdLogger LOG = HvdLogger.of(BarrierJob.class);

    private final JavaSparkContext context;
    private final SparkOptions options;
    private final String call;
    private final ResourceProfile profile;
    private final Slots slots;

    /** @param call the method that the user has called, for messages */
    BarrierJob(JavaSparkContext context, SparkOptions options, String call) {
        this.context = context;
        this.options = options;
        this.call = call + " of " + options.ranks() + " ranks";
        this.profile = profile();
        this.slots = new Slots(context.sc(), profile, this.call, options.ranks(), options.slotLimit());
        slots.requireFixed();
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
        Option<ResourceProfile> known = manager.getEquivalentProfile(ofGpus);
        if (known.isDefined()) {
            return known.get();
        }
        manager.addResourceProfile(ofGpus);
        return ofGpus;
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
        try {
            return decoded(await(running));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ShutdownException(
                    call + " was cancelled: thread " + Thread.currentThread().getName()
                            + ", which waits for it, was interrupted",
                    e);
        } finally {
            running.cancel(true); // nothing, if it has ended
        }
    }

    /** @throws HvdException if the stage waits for slots that are gone */
    private List<byte[]> await(JavaFutureAction<List<byte[]>> running) throws SparkException, InterruptedException {
        while (true) {
            try {
                return running.get(1, TimeUnit.SECONDS);
            } catch (TimeoutException e) {
                slots.look();
            } catch (ExecutionException e) {
                throw thrown(e.getCause());
            }
        }
    }

    /** Rows that cannot be computed have exceptions of their own. */
    private static SparkException thrown(Throwable cause) {
        if (cause instanceof SparkException known) {
            return known;
        }
        if (cause instanceof RuntimeException unchecked) {
            throw unchecked;
        }
        return new SparkException(String.valueOf(cause), cause);
    }

    @SuppressWarnings("unchecked")
    private static <R> List<R> decoded(List<byte[]> results) {
        List<R> ofRanks = new ArrayList<>();
        for (byte[] result : results) {
            ofRanks.add((R) RankResult.decode(result)); // what the body of that rank has returned
        }
        return ofRanks;
    }
}
