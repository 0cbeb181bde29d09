package io.hvd.launch.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.failure.ObservedFailure;
import io.hvd.launch.process.LaunchEnvironment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An ssh that says nothing and reads nothing, as one whose host takes the connection and does not answer. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class DirectJobTest {

    @TempDir
    private Path folder;

    private DirectJob job(String... words) throws Exception {
        Path ssh = Files.writeString(folder.resolve("ssh"), "#!/bin/sh\nexec sleep 600\n");
        Files.setPosixFilePermissions(ssh, PosixFilePermissions.fromString("rwx------"));
        Map<String, String> environment =
                Map.of("PATH", folder + ":" + System.getenv("PATH"), "LONG", "x".repeat(100_000));
        return new DirectJob(
                DirectPlanTest.plan(environment, words),
                Map.of("HVD_FAILURE_DIR", folder.toString()),
                Files.createDirectories(folder.resolve("records")),
                LaunchEnvironment.of(environment));
    }

    /** There are more ranks on the other host than its sshd lets in at a time. */
    @Test
    void aRankThatFailsEndsTheJobWhileOthersAreStillStarting() throws Exception {
        DirectJob job = job("--start-timeout", "100000", "-np", "10", "-H", "here:1,b:9", "sh", "-c", "exit 7");

        assertThat(job.run()).isEqualTo(7);

        assertThat(job.firstFailure().map(ObservedFailure::rank)).contains(0);
        job.release();
    }
}
