package io.hvd.top;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real job of two processes. */
class HvdMonitorIT {
    @TempDir
    private Path folder;

    @Test
    @Tag("long")
    void bothRanksOfARealJobHaveLoadAndMemory() throws Exception {
        Path csv = folder.resolve("X.csv");
        Path plot = folder.resolve("X.html");

        Job job = Job.horovodrun(
                2,
                MonitoredProgram.class,
                "--seconds",
                "3",
                "--interval-ms",
                "200",
                "--csv",
                csv.toString(),
                "--plot",
                plot.toString());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("MONITOR exit code 0", "rank 1: ");
        assertThat(Files.readAllLines(csv).get(0)).isEqualTo(Reading.RANK_COLUMNS);
        List<Reading> readings = Files.readAllLines(csv).stream()
                .map(Reading::parse)
                .flatMap(Optional::stream)
                .toList();
        assertThat(readings).extracting(Reading::index).contains(0, 1);
        assertThat(readings).allSatisfy(one -> {
            assertThat(one.usedMebibytes()).isBetween(1L, one.totalMebibytes());
            assertThat(one.freeMebibytes()).isPositive();
        });
        assertThat(readings.stream().mapToLong(Reading::load).max().orElseThrow())
                .isPositive();
        assertThat(Files.readString(plot).split("<polyline", -1)).hasSize(5);
    }
}
