package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostsProgram;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A process of a test that runs beside others, and is one rank of a job. */
record StartedRank(Process process, Path log) {
    private static final long LIMIT_SECONDS = 180;

    /** Starts one that says where it is and ends. */
    static StartedRank of(Path folder, Map<String, String> environment) throws IOException {
        Path log = Files.createTempFile(folder, "rank", ".log");
        var builder = new ProcessBuilder(Job.program(HostsProgram.class))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile());
        builder.environment().putAll(environment);
        return new StartedRank(builder.start(), log);
    }

    String output() throws IOException {
        return Files.readString(log);
    }

    /** Returns when it has printed a text. */
    void says(String text) throws IOException, InterruptedException {
        long begun = System.nanoTime();
        while (!output().contains(text)) {
            assertThat(System.nanoTime() - begun)
                    .as("waits for \"%s\" in: %s", text, output())
                    .isLessThan(TimeUnit.SECONDS.toNanos(LIMIT_SECONDS));
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    /** Its output when it has ended, and with this exit code. */
    String endsWith(int exitCode) throws IOException, InterruptedException {
        assertThat(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS))
                .as(output())
                .isTrue();
        assertThat(process.exitValue()).as(output()).isEqualTo(exitCode);
        return output();
    }
}
