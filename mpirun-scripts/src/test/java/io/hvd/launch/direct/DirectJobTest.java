package io.hvd.launch.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.failure.ObservedFailure;
import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.words.Argument;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
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
        var machine = new MachineFacts(
                "here",
                4,
                1000,
                false,
                Optional.empty(),
                OptionalLong.of(1L << 30),
                Set.of("here", "localhost"),
                Set.of("lo", "eth0"),
                environment);
        var facts = new LaunchFacts(LaunchOptions.parse(environment, words), machine, MpiVersion.NONE);
        return new DirectJob(
                DirectPlan.of(facts, Argument.note(""), Optional.empty()),
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
