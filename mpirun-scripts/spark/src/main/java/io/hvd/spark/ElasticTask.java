package io.hvd.spark;

import io.hvd.Elastic;
import java.net.InetSocketAddress;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;

/**
 * A worker of an elastic job as its executor runs it. Spark sends it to each task.
 *
 * @param host where the driver has the coordinator
 */
record ElasticTask<R>(String host, int port, JobSecret secret, SparkOptions options, ElasticBody<R> body)
        implements FlatMapFunction<Iterator<Integer>, byte[]> {
    /** On the task's thread. @return nothing if the job has ended before this worker had a rank */
    @Override
    public Iterator<byte[]> call(Iterator<Integer> nothing) {
        TaskContext task = TaskContext.get();
        try {
            Optional<byte[]> result = Elastic.runTask(
                    new Place(new TaskFacts(task), this), TaskFacts.init(options), () -> RankResult.encode(body.run()));
            return result.stream().iterator();
        } catch (OutOfMemoryError e) {
            throw e; // any thread of the executor may have lost something, so that Spark ends it
        } catch (Throwable e) {
            throw TaskFailure.of("worker " + task.partitionId() + " of " + options.ranks() + " has failed", e);
        }
    }

    /** Where the worker finds the job. */
    private record Place(TaskFacts facts, ElasticTask<?> task) implements Elastic.Task {
        @Override
        public List<InetSocketAddress> coordinator() {
            return List.of(InetSocketAddress.createUnresolved(task.host(), task.port()));
        }

        @Override
        public byte[] secret() {
            return task.secret().bytes();
        }

        @Override
        public List<Integer> gpus() {
            return facts.gpus();
        }

        @Override
        public Optional<String> cancelled() {
            return facts.cancelled();
        }
    }
}
