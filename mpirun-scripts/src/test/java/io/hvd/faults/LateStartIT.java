package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.launch.mpi.MpiInstall;
import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** MPI_Init waits for all ranks for ever and says nothing; hvd ends the job within its limit and says for which. */
class LateStartIT {
    private static final int LATE = 1;
    /** Longer than the test may take: the launcher ends that rank. */
    private static final String TOO_LATE = "600";

    private static final String SENTENCE = " in MPI_Init, which ends when all ranks have called Hvd.init(); ";

    @Test
    void aRankThatHasNotCalledInitIsNamedUnderMpirun() throws IOException, InterruptedException {
        requireNamed(Mpirun.command(3, LateStartProgram.class, "" + LATE, TOO_LATE));
    }

    /** The shell is between the launcher and the rank. */
    @Test
    void aRankBelowAShellIsNamedToo() throws IOException, InterruptedException {
        List<String> line = Mpirun.command(3);
        line.addAll(List.of("sh", "-c", "\"$@\"; exit $?", "sh"));
        line.addAll(Job.program(LateStartProgram.class, "" + LATE, TOO_LATE));
        requireNamed(line);
    }

    @Test
    void aRankThatHasNotCalledInitIsNamedUnderMpich() throws IOException, InterruptedException {
        String java = Runtime.version().feature() >= 22
                ? System.getProperty("java.home")
                : System.getProperty("hvd.jdk22", "");
        assumeTrue(!java.isEmpty(), "no Java 22 or newer; mvn -Dhvd.jdk22=HOME names one");
        Optional<Path> hydra = MpiInstall.onPath("mpiexec.hydra", System.getenv());
        assumeTrue(hydra.isPresent(), "no MPICH: there is no mpiexec.hydra on PATH");
        List<String> line = new ArrayList<>(List.of(hydra.get().toString(), "-np", "3"));
        line.addAll(Job.program(java, LateStartProgram.class, "" + LATE, TOO_LATE));
        requireNamed(line);
    }

    @Test
    void aRankThatComesWithinTheLimitIsWaitedFor() throws IOException, InterruptedException {
        List<String> output = new ArrayList<>();

        assertThat(run(Mpirun.command(3, LateStartProgram.class, "" + LATE, "2"), "60", output))
                .as(String.join("\n", output))
                .isZero();
        assertThat(words(output, "DONE ")).containsExactlyInAnyOrder("0", "1", "2");
        assertThat(words(output, SENTENCE)).isEmpty();
    }

    private static void requireNamed(List<String> line) throws IOException, InterruptedException {
        List<String> output = new ArrayList<>();
        int code = run(line, "5", output);

        // Hydra may report that of a rank that it has killed.
        assertThat(code).as(String.join("\n", output)).isIn(1, 9);
        String process = words(output, "LATE process ").findFirst().orElseThrow();
        assertThat(words(output, SENTENCE))
                .isNotEmpty()
                .allMatch(("on this host these have not: rank " + LATE + " (process " + process + ")")::equals);
        assertThat(output)
                .anyMatch(said -> said.matches(".*HVD-102.* has waited for 5 s \\(HOROVOD_START_TIMEOUT\\).*"));
        assertThat(words(output, "DONE ")).isEmpty();
    }

    /** The exit code. @param limit in seconds, for the start */
    private static int run(List<String> line, String limit, List<String> output)
            throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(line).redirectErrorStream(true);
        builder.environment().putAll(Map.of("HVD_BACKEND", "mpi", "HOROVOD_START_TIMEOUT", limit));
        Process job = builder.start();
        try (BufferedReader lines = job.inputReader()) {
            lines.lines().forEach(output::add);
        }
        return job.waitFor();
    }

    /** What follows these words in the lines that have them. */
    private static Stream<String> words(List<String> output, String before) {
        return output.stream()
                .filter(said -> said.contains(before))
                .map(said -> said.substring(said.indexOf(before) + before.length()));
    }
}
