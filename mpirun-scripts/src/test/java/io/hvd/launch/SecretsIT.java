package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What others on the machine can read while a real mpirun calls another host by an ssh that writes down what it sees. */
@Timeout(400)
final class SecretsIT {

    /** Reaches hosts as far as horovodrun asks, and then no more; all command lines of the machine are on record. */
    private static final String SSH = """
            #!/bin/sh
            printf '%s\\n' "$*" >>"$HVD_TEST_SEEN/ssh"
            for one in /proc/[0-9]*/cmdline; do
                { tr '\\0' ' ' <"$one"; echo; } >>"$HVD_TEST_SEEN/ps" 2>/dev/null
            done
            case $* in *"ls /sys/class/net"*) ls /sys/class/net; exit 0 ;; esac
            exit 255
            """;

    @TempDir
    private Path folder;

    @Test
    void theSecretsOfAJobWithoutMpiStandOnNoCommandLineAndInNoReport() throws IOException {
        List<String> command = new ArrayList<>(Job.program(Horovodrun.class, "--gloo", "-np", "2", "--verbose"));
        command.addAll(Job.program(SecretsProgram.class, folder.toString()));
        Map<String, String> environment = new HashMap<>();
        environment.put("HVD_SECRET", "s3cret-3");
        environment.put("HVD_REPORT_DIR", folder.toString());
        environment.put("HOROVOD_STALL_CHECK_TIME_SECONDS", "1");
        environment.put("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "2");

        Job job = Job.run(command, environment);

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        String token = Files.readString(folder.resolve("token-0"));
        assertThat(token).matches("[0-9a-f]{32}").isEqualTo(Files.readString(folder.resolve("token-1")));
        assertThat(job.output()).contains("left out").doesNotContain("s3cret").doesNotContain(token);
        List<String> written = new ArrayList<>();
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                String name = file.getFileName().toString();
                if (!name.startsWith("token-")) {
                    written.add(name.replaceAll("\\d+", "N"));
                    assertThat(Files.readString(file, StandardCharsets.ISO_8859_1))
                            .as(name)
                            .doesNotContain("s3cret")
                            .doesNotContain(token);
                }
            }
        }
        assertThat(folder.resolve("job-0")).content().contains("HOROVOD_STALL_CHECK_TIME_SECONDS=1");
        assertThat(written).contains("ps-N-N", "job-N").anyMatch(name -> name.startsWith("hvd-hang"));
    }

    @Test
    void noSecretStandsOnACommandLineNorInWhatVerboseShows() throws IOException {
        Path programs = Files.createDirectory(folder.resolve("bin"));
        Path ssh = Files.writeString(programs.resolve("ssh"), SSH.replace("$HVD_TEST_SEEN", folder.toString()));
        Files.setPosixFilePermissions(ssh, PosixFilePermissions.fromString("rwx------"));
        Map<String, String> environment = new HashMap<>();
        environment.put("PATH", programs + ":" + System.getenv("PATH"));
        environment.put("MY_TOKEN", "s3cret-1");
        environment.put("AWS_SECRET_ACCESS_KEY", "s3cret-2");
        environment.put("XDG_CACHE_HOME", folder.toString());
        List<String> command =
                new ArrayList<>(Job.program(Horovodrun.class, "-np", "1", "-H", "elsewhere:1", "--verbose"));
        command.addAll(List.of("sh", "-c", "true"));

        Job job = Job.run(command, environment);

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.output())
                .contains("-x HVD_LAUNCHER_ADDRESS", "-x AWS_SECRET_ACCESS_KEY")
                .doesNotContain("s3cret");
        assertThat(folder.resolve("ssh"))
                .content()
                .contains("ls /sys/class/net", "orted")
                .doesNotContain("s3cret");
        assertThat(folder.resolve("ps"))
                .content()
                .contains("mpirun ", "-x MY_TOKEN ")
                .doesNotContain("s3cret")
                .doesNotContainPattern("[0-9a-f]{32}@");
    }
}
