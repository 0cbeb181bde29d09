package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Beginning and end of a job under real mpirun. */
class LifecycleIT {
    @ParameterizedTest
    @ValueSource(strings = {"again", "again-without-close"})
    void initShutdownAndInitAgainWork(String variant) {
        Job job = Job.horovodrun(2, LifecycleProgram.class, variant);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("THREE LIVES")).hasSize(2);
    }

    @Test
    void someOfTheRanksCanFormAJobInAnOrderOfTheirOwn() {
        Job job = Job.horovodrun(4, LifecycleProgram.class, "some");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output())
                .contains("WORLD 2 RANK 0 OF 2", "WORLD 1 RANK 1 OF 2", "WORLD 0 RANK 0 OF 2", "WORLD 3 RANK 1 OF 2");
    }

    @Test
    void anMpiJarOfAnotherVersionIsNamedWithBothVersionsBeforeItCanDoHarm(@TempDir Path folder) throws IOException {
        Path foreign = folder.resolve("mpi.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, "3.1.6");
        new JarOutputStream(Files.newOutputStream(foreign), manifest).close();

        Job job = Job.horovodrun(2, Map.of("HVD_MPI_JAR", foreign.toString()), LifecycleProgram.class, "init");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("HVD-105", "3.1.6", foreign.toString(), "mpirun-scripts/setup.sh");
        assertThat(job.output()).containsPattern("Open MPI \\d+\\.\\d+\\.\\d+ ");
    }

    @Test
    void withoutMpirunAProgramIsAJobOfOneRank() {
        Job job = Job.run(Job.program(LifecycleProgram.class, "again"), Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("THREE LIVES");
    }

    @Test
    void plainMpirunNeedsNoJvmFlags() {
        Job job = Job.run(Mpirun.command(2, LifecycleProgram.class, "again"), Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("THREE LIVES")).hasSize(2);
    }

    @Test
    void aBadSettingIsNamedWithWhatWasExpected() {
        Job job = Job.horovodrun(2, Map.of("HOROVOD_FUSION_THRESHOLD", "lots"), LifecycleProgram.class, "init");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("HOROVOD_FUSION_THRESHOLD", "\"lots\"", "whole number");
    }

    @Test
    void withoutOpenMpiTheErrorSaysWhatToRun() {
        List<String> command = Job.program(LifecycleProgram.class, "init");

        Job job = Job.run(command, Map.of("HVD_BACKEND", "mpi", "PATH", "/nonexistent"));

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("HVD-104", "mpirun-scripts/setup.sh");
    }
}
