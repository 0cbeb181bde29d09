package io.hvd.spark;

import io.hvd.ClusterTask;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.resource.ResourceInformation;

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
        ResourceInformation gpus = task.resourcesJMap().get(RankTask.GPU);
        return gpus == null
                ? List.of()
                : Stream.of(gpus.addresses()).map(this::number).toList();
    }

    private int number(String address) {
        if (!address.matches("\\d{1,4}")) {
            throw new HvdException(
                    ErrorId.NO_DEVICE,
                    "Spark has given GPU \"" + address + "\" to rank " + rank()
                            + ", expected its number in the executor, such as 0: the discovery script of"
                            + " spark.worker.resource.gpu or spark.executor.resource.gpu has to name GPUs by numbers");
        }
        return Integer.parseInt(address);
    }

    @Override
    public Optional<String> cancelled() {
        return task.isInterrupted()
                ? Optional.of(task.getKillReason().getOrElse(() -> "no reason was given"))
                : Optional.empty();
    }
}
