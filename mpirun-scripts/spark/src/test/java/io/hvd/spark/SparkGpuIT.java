package io.hvd.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Stage-level scheduling of GPUs that a worker believes it has; no process sees one. */
@Tag("long")
@Timeout(180)
class SparkGpuIT {
    @Test
    void aRankTakesTheGpuThatSparkGivesToItsTask(@TempDir Path folder) throws Exception {
        Path script = Files.createFile(
                folder.resolve("gpus"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Files.writeString(script, "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"5\"]}'\n");
        List<String> options = List.of(
                "-Dspark.worker.resource.gpu.amount=1", "-Dspark.worker.resource.gpu.discoveryScript=" + script);
        try (StandaloneCluster cluster = new StandaloneCluster(folder, 2, 2, options);
                SparkSession spark = SparkIT.session(
                        cluster,
                        Map.of("spark.executor.resource.gpu.amount", "1", "spark.task.resource.gpu.amount", "1"))) {
            SparkOptions two = SparkOptions.of(2).withGpusPerRank(1);

            assertThatThrownBy(() -> HvdSpark.run(spark, two, SparkPrograms::look))
                    .isInstanceOf(HvdException.class)
                    .hasMessageMatching("(?s).*the scheduler has given GPUs \\[5\\] to rank [01], but its process on"
                            + " host .* sees none.*");
            assertThat(HvdSpark.run(spark, two.withSettings(Map.of("HVD_BACKEND", "tcp")), SparkPrograms::sum))
                    .containsExactly(3f, 3f);
            assertThatThrownBy(() -> HvdSpark.run(
                            spark,
                            SparkOptions.of(3).withGpusPerRank(1).withSlotLimit(java.time.Duration.ZERO),
                            SparkPrograms::look))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("has 2 on 2 executors")
                    .hasMessageContaining("1.0 GPUs for each task");
        }
    }
}
