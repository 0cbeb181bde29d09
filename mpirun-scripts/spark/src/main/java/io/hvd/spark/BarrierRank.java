package io.hvd.spark;

import io.hvd.ClusterTask;
import java.util.List;
import java.util.Optional;
import org.apache.spark.BarrierTaskContext;

/** A task of a barrier stage as hvd sees it. Its partition is its rank. */
record BarrierRank(BarrierTaskContext task, JobSecret jobSecret, int size) implements ClusterTask {
    @Override
    public int rank() {
        return task.partitionId();
    }

    @Override
    public byte[] secret() {
        return jobSecret.bytes();
    }

    /** It takes Spark a second. If another task fails, Spark ends it. */
    @Override
    public List<String> exchange(String mine) {
        return List.of(task.allGather(mine));
    }

    @Override
    public List<Integer> gpus() {
        return new TaskFacts(task).gpus();
    }

    @Override
    public Optional<String> cancelled() {
        return new TaskFacts(task).cancelled();
    }
}
