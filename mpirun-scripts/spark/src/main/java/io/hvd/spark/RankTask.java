package io.hvd.spark;

import io.hvd.Hvd;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.TaskContext;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/** A rank as its executor runs it: from the partition to the rank's result. Spark sends it to each task. */
final class RankTask<T, R> extends AbstractFunction1<Iterator<T>, Iterator<byte[]>> implements Serializable {
    private static final long serialVersionUID = 1L;

    /** In the words of a rank that has failed because another one has. */
    static final String IN_CONSEQUENCE = "in consequence of another rank";

    /** Within this time Spark hears of an executor that is gone, or of the rank that has failed first. */
    private static final long FIRST_SPEAKER_MILLIS = 5_000;

    private static final long PAUSE_MILLIS = 50;

    private final SparkOptions options;
    private final JobSecret secret;
    private final PartitionBody<T, R> body;

    RankTask(SparkOptions options, JobSecret secret, PartitionBody<T, R> body) {
        this.options = options;
        this.secret = secret;
        this.body = body;
    }

    /** On the task's thread. */
    @Override
    public Iterator<byte[]> apply(Iterator<T> partition) {
        BarrierTaskContext task = (BarrierTaskContext) TaskContext.get();
        List<T> rows = read(task, partition);
        try {
            R result = Hvd.runTask(
                    new BarrierRank(task, secret, options.ranks()),
                    TaskFacts.init(options),
                    hvd -> body.run(hvd, rows));
            return CollectionConverters.asScala(
                    List.of(RankResult.encode(result)).iterator());
        } catch (OutOfMemoryError e) {
            throw e; // any thread of the executor may have lost something, so that Spark ends it
        } catch (Throwable e) {
            throw failure(task, e);
        }
    }

    /** Exceptions of the rows are Spark's, which may compute them again; an error would end the executor. */
    private List<T> read(BarrierTaskContext task, Iterator<T> partition) {
        try {
            List<T> rows = new ArrayList<>();
            partition.foreach(rows::add);
            return rows;
        } catch (OutOfMemoryError e) {
            throw e;
        } catch (Error e) {
            throw TaskFailure.of(
                    "the rows of rank " + task.partitionId() + " of " + options.ranks() + " have failed", e);
        }
    }

    /**
     * Spark tells the driver of the first task that fails. One that has failed because of another gives that one, or the news
     * of its executor's end, time to be the first.
     */
    private HvdException failure(BarrierTaskContext task, Throwable e) {
        boolean consequence = causes(e).anyMatch(ShutdownException.class::isInstance);
        if (consequence) {
            awaitEnd(task);
        }
        return TaskFailure.of(
                "rank " + task.partitionId() + " of " + options.ranks()
                        + (consequence ? " has failed " + IN_CONSEQUENCE : " has failed"),
                e);
    }

    private static Stream<Throwable> causes(Throwable e) {
        return Stream.iterate(e, cause -> cause != null, Throwable::getCause);
    }

    private static void awaitEnd(BarrierTaskContext task) {
        try {
            for (long waited = 0; waited < FIRST_SPEAKER_MILLIS && !task.isInterrupted(); waited += PAUSE_MILLIS) {
                Thread.sleep(PAUSE_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
