package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Many jobs of two processes one after the other: with MPI, shared memory, monitors and control connections. */
class ManyLivesIT {
    @Test
    void manyJobsLeaveNoThreadNoDescriptorNoSegmentAndNoFile(@TempDir Path folder) {
        requireNothingLeft(25, folder);
    }

    @Test
    @Tag("long")
    void aHundredJobsLeaveNoThreadNoDescriptorNoSegmentAndNoFile(@TempDir Path folder) {
        requireNothingLeft(100, folder);
    }

    private static void requireNothingLeft(int lives, Path folder) {
        List<String> program = Job.program(ManyLivesProgram.class, "shutdown", String.valueOf(lives));
        program.add(1, "-Djava.io.tmpdir=" + folder);

        Job job = Job.horovodrun(2, Map.of("HOROVOD_LOG_LEVEL", "error", "HVD_REPORT_DIR", folder.toString()), program);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("LEFT NOTHING")).as(job.output()).hasSize(2);
    }
}
