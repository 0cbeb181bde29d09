package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A compression that cannot pay, under real mpirun. */
class OneHostCompressionIT {
    private static final String NOTE = "FP16 is left out between ranks that are all on one host";

    @Test
    void isLeftOutAndSaidSoOnce() {
        Job job = run(Map.of());

        assertThat(job.lines(" has 80000.0")).as(job.output()).hasSize(2);
        assertThat(job.lines(NOTE)).as(job.output()).singleElement().asString().contains("HVD_COMPRESS_ON_ONE_HOST=1");
    }

    @Test
    void isThereWithTheSetting() {
        Job job = run(Map.of("HVD_COMPRESS_ON_ONE_HOST", "1"));

        assertThat(job.lines(" has Infinity")).as(job.output()).hasSize(2);
        assertThat(job.lines(NOTE)).as(job.output()).isEmpty();
    }

    private static Job run(Map<String, String> settings) {
        Job job = Job.horovodrun(2, settings, OneHostCompressionProgram.class);
        assertThat(job.exitCode()).as(job.output()).isZero();
        return job;
    }
}
