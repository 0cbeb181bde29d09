package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class EvaluationIT {
    private static final int RANKS = 4;

    /** 359 test images cannot be dealt evenly to 4 ranks. */
    @Test
    @Tag("long")
    void everyRankFindsTheSameOverAllTestImages() {
        Job job = Job.horovodrun(
                RANKS, Map.of("HVD_THREADS_PER_RANK", "1"), EvaluationOnEveryRank.class, "--epochs", "1");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines(" found ")).hasSize(RANKS);
        assertThat(job.lines(" found ").stream()
                        .map(line -> line.substring(line.indexOf(" found ")))
                        .distinct())
                .hasSize(1)
                .allSatisfy(found -> assertThat(found).contains("samples=359"));
    }
}
