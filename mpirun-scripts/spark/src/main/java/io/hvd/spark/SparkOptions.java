package io.hvd.spark;

import java.io.Serializable;
import java.time.Duration;
import java.util.Map;

/**
 * Options of a job on Spark.
 *
 * @param ranks the tasks of the stage, each of which is a rank
 * @param leastRanks with which an {@linkplain HvdSpark#runElastic elastic} job begins and goes on; at most {@code ranks}
 * @param gpusPerRank GPUs that Spark gives to each task by stage-level scheduling; 0 for what {@code
 *     spark.task.resource.gpu.amount} says
 * @param batchRows rows of each batch of {@link HvdSpark#train}
 * @param restarts how often the job begins anew after it has lost an executor; the body goes on from its last checkpoint
 * @param slotLimit time for which the job waits until the application has a slot for each rank
 * @param elasticLimit time for which an elastic job with fewer than {@code leastRanks} waits for others, and for a rank that others
 *     wait for
 * @param settings values of hvd's settings, by the names of their variables, that count on all ranks
 */
public record SparkOptions(
        int ranks,
        int leastRanks,
        int gpusPerRank,
        int batchRows,
        int restarts,
        Duration slotLimit,
        Duration elasticLimit,
        Map<String, String> settings)
        implements Serializable {
    private static final int BATCH_ROWS = 32;
    /** As often as Spark itself tries a stage anew. */
    private static final int RESTARTS = 3;

    private static final Duration SLOT_LIMIT = Duration.ofSeconds(60);
    /** That of {@code horovodrun --elastic-timeout}. */
    private static final Duration ELASTIC_LIMIT = Duration.ofSeconds(600);

    /** @throws IllegalArgumentException if a number is too small */
    public SparkOptions {
        require("ranks", ranks, 1);
        require("leastRanks", leastRanks, 1);
        if (leastRanks > ranks) {
            throw new IllegalArgumentException(
                    "leastRanks is " + leastRanks + ", expected at most " + ranks + " (ranks)");
        }
        require("gpusPerRank", gpusPerRank, 0);
        require("batchRows", batchRows, 1);
        require("restarts", restarts, 0);
        if (slotLimit.isNegative()) {
            throw new IllegalArgumentException("slotLimit is " + slotLimit + ", expected zero or more");
        }
        if (elasticLimit.toMillis() < 1) {
            throw new IllegalArgumentException("elasticLimit is " + elasticLimit + ", expected 1 ms or more");
        }
        settings = Map.copyOf(settings);
    }

    private static void require(String name, int value, int least) {
        if (value < least) {
            throw new IllegalArgumentException(name + " is " + value + ", expected " + least + " or more");
        }
    }

    /** Options for a job of so many ranks. */
    public static SparkOptions of(int ranks) {
        return new SparkOptions(ranks, ranks, 0, BATCH_ROWS, RESTARTS, SLOT_LIMIT, ELASTIC_LIMIT, Map.of());
    }

    /**
     * These options with so many GPUs for each rank, whatever the application's tasks have by default. It needs a cluster whose
     * executors have GPUs: standalone, YARN or Kubernetes.
     */
    public SparkOptions withGpusPerRank(int gpus) {
        return new SparkOptions(ranks, leastRanks, gpus, batchRows, restarts, slotLimit, elasticLimit, settings);
    }

    /** These options with so few ranks as an elastic job may have. */
    public SparkOptions withLeastRanks(int least) {
        return new SparkOptions(ranks, least, gpusPerRank, batchRows, restarts, slotLimit, elasticLimit, settings);
    }

    /** These options with batches of so many rows on each rank. */
    public SparkOptions withBatchRows(int rows) {
        return new SparkOptions(ranks, leastRanks, gpusPerRank, rows, restarts, slotLimit, elasticLimit, settings);
    }

    /** These options with so many restarts after the loss of an executor; with 0 the first loss ends the job. */
    public SparkOptions withRestarts(int times) {
        return new SparkOptions(ranks, leastRanks, gpusPerRank, batchRows, times, slotLimit, elasticLimit, settings);
    }

    /** These options with another limit for the wait for executors; with zero those have to be there. */
    public SparkOptions withSlotLimit(Duration limit) {
        return new SparkOptions(ranks, leastRanks, gpusPerRank, batchRows, restarts, limit, elasticLimit, settings);
    }

    /** These options with another time for which an elastic job waits for ranks. */
    public SparkOptions withElasticLimit(Duration limit) {
        return new SparkOptions(ranks, leastRanks, gpusPerRank, batchRows, restarts, slotLimit, limit, settings);
    }

    /** These options with hvd's settings, as docs/reference/settings.md lists them. */
    public SparkOptions withSettings(Map<String, String> values) {
        return new SparkOptions(ranks, leastRanks, gpusPerRank, batchRows, restarts, slotLimit, elasticLimit, values);
    }
}
