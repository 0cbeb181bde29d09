package io.hvd.spark;

import io.hvd.error.ShutdownException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfileBuilder;
import org.apache.spark.resource.TaskResourceRequests;
import scala.Option;

/** A stage that runs. Used by the thread that waits for it. */
record Stage(String call, JavaFutureAction<List<byte[]>> running) {
    /** What each task needs: what the application says, or GPUs of its own. */
    static ResourceProfile profile(JavaSparkContext context, SparkOptions options) {
        var manager = context.sc().resourceProfileManager();
        if (options.gpusPerRank() == 0) {
            return manager.defaultResourceProfile();
        }
        ResourceProfile ofGpus = new ResourceProfileBuilder()
                .require(new TaskResourceRequests().resource(TaskFacts.GPU, options.gpusPerRank()))
                .build();
        Option<ResourceProfile> known = manager.getEquivalentProfile(ofGpus);
        if (known.isDefined()) {
            return known.get();
        }
        manager.addResourceProfile(ofGpus);
        return ofGpus;
    }

    /**
     * Waits for its end; it is cancelled if the wait ends by an exception.
     *
     * @param look called once a second; what it throws ends the wait
     * @return what its tasks have returned, one after the other
     * @throws SparkException if it has failed
     * @throws ShutdownException if the calling thread is interrupted
     */
    <R> List<R> await(Runnable look) throws SparkException {
        try {
            while (true) {
                try {
                    return decoded(running.get(1, TimeUnit.SECONDS));
                } catch (TimeoutException e) {
                    look.run();
                }
            }
        } catch (ExecutionException e) {
            throw thrown(e.getCause());
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
        List<R> ofTasks = new ArrayList<>();
        for (byte[] result : results) {
            ofTasks.add((R) RankResult.decode(result)); // what the body of that task has returned
        }
        return ofTasks;
    }
}
