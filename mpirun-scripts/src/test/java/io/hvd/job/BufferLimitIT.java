package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The limit and the list at the end of the record of buffers, in real processes. */
class BufferLimitIT {
    @Test
    void theRankThatIsAtItsLimitIsNamedWithWhatItHoldsAndNobodyWaits() {
        int limit = 40_000_000;
        Job job = Job.horovodrun(
                2,
                Map.of("HVD_MAX_BUFFER_BYTES", String.valueOf(limit)),
                BufferLimitProgram.class,
                String.valueOf(limit));

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output())
                .containsPattern("\\[HVD-310] rank 1 of 2 has asked for \\d+ bytes for collectives in shared memory")
                .contains("HVD_MAX_BUFFER_BYTES=40000000", "hvd has here: tensors (direct) ")
                .containsPattern("stages of MPI +direct +\\d+ +\\d+")
                .contains("in consequence: rank 0");
    }

    @Test
    void aBufferThatIsHeldAtTheEndIsListedWithThePlaceWhereItWasMade() {
        Job job = Job.horovodrun(2, Map.of("HVD_BUFFER_SITES", "1"), BufferLimitProgram.class, "0");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("not given back: "))
                .singleElement()
                .asString()
                .contains("tensors (direct) 4321 bytes, made at ", "BufferLimitProgram.main(BufferLimitProgram.java:");
    }
}
