package io.hvd.spark;

import io.hvd.InitOptions;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.TaskContext;
import org.apache.spark.resource.ResourceInformation;

/** What Spark tells a task that hvd runs on. */
record TaskFacts(TaskContext task) {
    /** The name of GPUs among Spark's resources. */
    static final String GPU = "gpu";

    /** The numbers of the task's GPUs in its executor; empty if it has none of its own. */
    List<Integer> gpus() {
        ResourceInformation gpus = task.resourcesJMap().get(GPU);
        return gpus == null
                ? List.of()
                : Stream.of(gpus.addresses()).map(this::number).toList();
    }

    private int number(String address) {
        if (!address.matches("\\d{1,4}")) {
            throw new HvdException(
                    ErrorId.NO_DEVICE,
                    "Spark has given GPU \"" + address + "\" to the task of partition " + task.partitionId()
                            + ", expected its number in the executor, such as 0: the discovery script of"
                            + " spark.worker.resource.gpu or spark.executor.resource.gpu has to name GPUs by numbers");
        }
        return Integer.parseInt(address);
    }

    /** Why Spark no longer wants the task; empty while it does. */
    Optional<String> cancelled() {
        return task.isInterrupted()
                ? Optional.of(task.getKillReason().getOrElse(() -> "no reason was given"))
                : Optional.empty();
    }

    /** How a rank joins. */
    static InitOptions init(SparkOptions options) {
        InitOptions standard = InitOptions.standard().withSettings(options.settings());
        return options.gpusPerRank() == 0 ? standard : standard.withGpusPerRank(options.gpusPerRank());
    }
}
