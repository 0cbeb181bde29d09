package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import org.junit.jupiter.api.Test;

/** Compression between processes of one host, under real mpirun. */
class OneHostCompressionIT {
    @Test
    void whatIsAskedForIsAppliedAndItsPriceIsSaidOnce() {
        Job job = run("FP16");

        assertThat(job.lines(" has 2.0")).as(job.output()).hasSize(2);
        assertThat(job.lines("Compression.FP16 between ranks that are all on one host saves no time"))
                .as(job.output())
                .singleElement()
                .asString()
                .contains(
                        "on the machine of docs/records/benchmarks.md",
                        "Compression.AUTO compresses between hosts only");
    }

    @Test
    void autoLeavesItOutAndSaysSoOnce() {
        Job job = run("AUTO");

        assertThat(job.lines(" has " + (2 + 0x1p-11f))).as(job.output()).hasSize(2);
        assertThat(job.lines("Compression.AUTO: tensors travel as they are"))
                .as(job.output())
                .hasSize(1);
    }

    private static Job run(String compression) {
        Job job = Job.horovodrun(2, OneHostCompressionProgram.class, compression);
        assertThat(job.exitCode()).as(job.output()).isZero();
        return job;
    }
}
