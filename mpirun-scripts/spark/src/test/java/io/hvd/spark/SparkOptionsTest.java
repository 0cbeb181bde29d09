package io.hvd.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import java.time.Duration;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class SparkOptionsTest {
    @Test
    void eachOptionChangesNothingElse() {
        assertThat(SparkOptions.of(3)
                        .withLeastRanks(2)
                        .withGpusPerRank(2)
                        .withBatchRows(7)
                        .withRestarts(1)
                        .withSlotLimit(Duration.ofSeconds(5))
                        .withElasticLimit(Duration.ofSeconds(9))
                        .withSettings(Map.of("HOROVOD_FUSION_THRESHOLD", "0")))
                .isEqualTo(new SparkOptions(
                        3,
                        2,
                        2,
                        7,
                        1,
                        Duration.ofSeconds(5),
                        Duration.ofSeconds(9),
                        Map.of("HOROVOD_FUSION_THRESHOLD", "0")));
    }

    @Test
    void numbersThatAreTooSmallAreNamed() {
        assertThatThrownBy(() -> SparkOptions.of(0)).hasMessage("ranks is 0, expected 1 or more");
        assertThatThrownBy(() -> SparkOptions.of(2).withBatchRows(0)).hasMessage("batchRows is 0, expected 1 or more");
        assertThatThrownBy(() -> SparkOptions.of(2).withRestarts(-1)).hasMessage("restarts is -1, expected 0 or more");
        assertThatThrownBy(() -> SparkOptions.of(2).withLeastRanks(3))
                .hasMessage("leastRanks is 3, expected at most 2 (ranks)");
    }

    @Test
    void executorsThatComeAndGoAreRefusedWithTheNumberOfRanks() {
        SparkConf conf = new SparkConf(false).set("spark.dynamicAllocation.enabled", "true");

        assertThatThrownBy(() -> Slots.requireFixed(conf, 6, "HvdSpark.run of 6 ranks"))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HvdSpark.run of 6 ranks needs executors that stay for 6 tasks at once, but"
                        + " spark.dynamicAllocation.enabled is true");
        Slots.requireFixed(new SparkConf(false), 6, "HvdSpark.run of 6 ranks");
    }

    @Test
    void copiesOfElasticTasksAreRefused() {
        SparkConf conf = new SparkConf(false).set("spark.speculation", "true");

        assertThatThrownBy(() -> ElasticJob.requireNoCopies(conf, "HvdSpark.runElastic of 2 to 6 ranks"))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining(
                        "HvdSpark.runElastic of 2 to 6 ranks needs one task for each worker, but spark.speculation is"
                                + " true");
        ElasticJob.requireNoCopies(new SparkConf(false), "");
    }
}
