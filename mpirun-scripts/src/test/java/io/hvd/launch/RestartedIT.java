package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs that fail and are started again. */
@Timeout(400)
final class RestartedIT {

    private static final String FAILS_TWICE =
            "echo run $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS; test $TORCHELASTIC_RESTART_COUNT -ge 2 || exit 7";

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"--mpi", "--gloo"})
    void aJobThatFailsTwiceIsStartedTwiceAgain(String starter) throws IOException {
        Job job = horovodrun(
                starter,
                "--restarts",
                "3",
                "--output-filename",
                folder.toString(),
                "-np",
                "2",
                "sh",
                "-c",
                FAILS_TWICE);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("run 0 of 3")).isNotEmpty();
        assertThat(job.lines("run 2 of 3")).as(job.output()).hasSize(2);
        assertThat(job.output())
                .contains("restart 1 of 3, with 2 ranks", "restart 2 of 3, with 2 ranks")
                .doesNotContain("restart 3");
        assertThat(job.output()).containsPattern("(?s)exit code 7.*restart 1 .*exit code 7.*restart 2 ");
        assertThat(outputs(folder))
                .as("a rank may have been ended before it wrote")
                .doesNotContain("run 1", "run 2");
        assertThat(outputs(folder.resolve("restart-2"))).isEqualTo("run 2 of 3\nrun 2 of 3\n");
    }

    private static String outputs(Path of) throws IOException {
        StringBuilder all = new StringBuilder();
        for (String rank : List.of("rank.0", "rank.1")) {
            Path file = of.resolve(rank).resolve("stdout");
            all.append(Files.exists(file) ? Files.readString(file) : "");
        }
        return all.toString();
    }

    @Test
    void afterTheLastRestartItsFailureIsThatOfTheJob() {
        Job job = horovodrun("--restarts", "1", "-np", "2", "sh", "-c", FAILS_TWICE);

        assertThat(job.exitCode()).as(job.output()).isEqualTo(7);
        assertThat(job.output())
                .containsPattern("(?s)exit code 7.*restart 1 of 1.*exit code 7")
                .doesNotContain("run 2");
    }

    @Test
    void aJobThatIsEndedFromOutsideIsNotStartedAgain() throws Exception {
        List<String> words = List.of("--restarts", "3", "-np", "2", "sh", "-c", "echo begun; exec sleep 60");
        Process launcher = new ProcessBuilder(Job.program(Horovodrun.class, words.toArray(String[]::new)))
                .redirectErrorStream(true)
                .start();
        try (var lines = launcher.inputReader()) {
            assertThat(lines.readLine()).isEqualTo("begun");
            launcher.toHandle().destroy();

            assertThat(lines.lines().toList()).noneMatch(line -> line.contains("restart "));
            assertThat(launcher.waitFor(180, TimeUnit.SECONDS)).isTrue();
        } finally {
            launcher.destroyForcibly();
        }
    }

    @Test
    void aProgramGetsTheResultsOfTheRunThatHasEndedWell() throws Exception {
        List<String> results = HvdLauncher.ranks(2).flags("--restarts", "1").call(SecondTime.class);

        assertThat(results).containsExactly("run 1", "run 1");
    }

    @Test
    void theLimitEndsTheSearchForHostsTooAndTheCallersThreadIsNotLeftInterrupted() throws Exception {
        Path script = folder.resolve("hosts");
        Path asked = folder.resolve("asked");
        Files.writeString(
                script, "#!/bin/sh\n[ -e " + asked + " ] && exec sleep 60\ntouch " + asked + "\necho localhost:2\n");
        assertThat(script.toFile().setExecutable(true)).isTrue();
        HvdLauncher launcher = HvdLauncher.ranks(2)
                .flags("--restarts", "1", "--host-discovery-script", script.toString())
                .limit(Duration.ofSeconds(12));

        assertThatThrownBy(() -> launcher.call(SecondTime.class))
                .isInstanceOf(JobFailedException.class)
                .hasMessageContaining("did not end within");
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }

    /** Fails when it runs for the first time. */
    public static final class SecondTime implements LaunchedProgram<String> {
        @Override
        public String run(HvdContext hvd, String... args) {
            String run = System.getenv("TORCHELASTIC_RESTART_COUNT");
            if (run.equals("0")) {
                throw new IllegalStateException("the first time");
            }
            return "run " + run;
        }

        @Override
        public ObjectCodec<String> codec() {
            return ObjectCodec.utf8();
        }
    }

    private static Job horovodrun(String... words) {
        List<String> all = new ArrayList<>(List.of(words));
        return Job.run(Job.program(Horovodrun.class, all.toArray(String[]::new)), Map.of());
    }
}
