package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many jobs one after the other in one JVM, as in a notebook or in a program's tests. */
class ManyLivesTest {
    @ParameterizedTest
    @ValueSource(strings = {"close", "shutdown", "spawn", "cancelled"})
    void manyJobsLeaveNoThreadNoDescriptorAndNoFile(String how, @TempDir Path folder) {
        requireNothingLeft(how, 25, folder);
    }

    @ParameterizedTest
    @ValueSource(strings = {"close", "shutdown", "spawn", "cancelled"})
    @Tag("long")
    void aHundredJobsLeaveNoThreadNoDescriptorAndNoFile(String how, @TempDir Path folder) {
        requireNothingLeft(how, 100, folder);
    }

    private static void requireNothingLeft(String how, int lives, Path folder) {
        List<String> command = Job.program(ManyLivesProgram.class, how, String.valueOf(lives));
        command.add(1, "-Djava.io.tmpdir=" + folder);

        Job job = Job.run(command, Map.of("HOROVOD_LOG_LEVEL", "error", "HVD_REPORT_DIR", folder.toString()));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("LEFT NOTHING");
    }
}
