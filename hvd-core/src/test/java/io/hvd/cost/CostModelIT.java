package io.hvd.cost;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A job with a cost model: all its ranks have rank 0's, or none of them starts. */
class CostModelIT {
    @TempDir
    private Path folder;

    @Test
    void allRanksSayWhoseModelTheyHave() throws IOException {
        Path file = folder.resolve("model.json");
        ModelFile.write(Made.model(Made.curve(Algorithm.RING, Form.MANY_BYTES, new JobShape(2, 1))), file);

        Job job = started(file);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines(" average 1.5 by ")).hasSize(2).allMatch(line -> line.contains("cost model of made-up"));
    }

    @Test
    void aBadFileIsNamedBeforeAnythingTravels() throws IOException {
        Path file = Files.writeString(folder.resolve("model.json"), "{\"format\": \"xml\"}");

        Job job = started(file);

        assertThat(job.exitCode()).isNotZero();
        assertThat(job.output())
                .contains("HVD-103", "cost model " + file + ", field format: found \"xml\"")
                .doesNotContain(" average ");
    }

    @Test
    void aMissingFileIsNamedByRankZero() {
        Job job = started(folder.resolve("nowhere.json"));

        assertThat(job.exitCode()).isNotZero();
        assertThat(job.output()).contains("rank 0 cannot read HVD_COST_MODEL=", "nowhere.json");
    }

    private static Job started(Path file) {
        return Job.horovodrun(2, Map.of("HVD_COST_MODEL", file.toString()), CostModelProgram.class);
    }
}
