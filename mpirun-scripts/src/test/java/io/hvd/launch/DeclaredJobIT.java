package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.mpi.MpiInstall;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A job that comes out smaller than its launcher has said does not train. */
class DeclaredJobIT {
    @TempDir
    private Path folder;

    /** As the mpirun of one MPI starts processes with the library of another: each is rank 0 of 1. */
    @Test
    void aProcessThatIsAloneWithItsMpiThoughSeveralWereStartedEnds() {
        Job job = Job.run(Job.program(OutputLinesProgram.class), Map.of("PMI_RANK", "0", "PMI_SIZE", "2"));

        assertThat(job.exitCode()).isNotZero();
        assertThat(job.output()).contains("HVD-102", "PMI_SIZE=2", "2 processes", "has only 1");
    }

    /** An mpirun that takes no notice of where the hosts are named starts all ranks here. */
    @Test
    void ranksOnFewerHostsThanWereNamedEnd() throws IOException {
        // It is not told of PBS, as one that was built without it.
        Path real = MpiInstall.onPath("mpirun", System.getenv()).orElseThrow();
        Path mpirun = Files.writeString(
                folder.resolve("mpirun"), "#!/bin/sh\nunset PBS_NODEFILE PBS_JOBID\nexec " + real + " \"$@\"\n");
        Files.setPosixFilePermissions(mpirun, PosixFilePermissions.fromString("rwx------"));
        Path hosts = Files.writeString(folder.resolve("hosts"), "n1\nn2\n");

        Job job = Job.horovodrun(
                2,
                Map.of(
                        "PATH",
                        folder + ":" + System.getenv("PATH"),
                        "PBS_ENVIRONMENT",
                        "PBS_BATCH",
                        "PBS_JOBID",
                        "1",
                        "PBS_NODEFILE",
                        hosts.toString()),
                Job.program(OutputLinesProgram.class));

        assertThat(job.exitCode()).isNotZero();
        assertThat(job.output()).contains("HVD-102", "PBS_NODEFILE=" + hosts, "2 hosts at least", "-H or --hostfile");
    }
}
