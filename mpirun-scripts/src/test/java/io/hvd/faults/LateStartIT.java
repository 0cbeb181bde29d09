package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.launch.mpi.MpiInstall;
import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** MPI_Init waits for all ranks for ever and says nothing; hvd says for which. */
class LateStartIT {
    private static final int LATE = 1;
    private static final String SENTENCE = " in MPI_Init, which ends when all ranks have called Hvd.init(); ";

    @TempDir
    private Path folder;

    @Test
    void aRankThatHasNotCalledInitIsNamedUnderMpirun() throws IOException, InterruptedException {
        requireNamed(Mpirun.command(3, LateStartProgram.class, "" + LATE, goOn().toString()));
    }

    /** The shell is between the launcher and the rank. */
    @Test
    void aRankBelowAShellIsNamedToo() throws IOException, InterruptedException {
        List<String> line = Mpirun.command(3);
        line.addAll(List.of("sh", "-c", "\"$@\"; exit $?", "sh"));
        line.addAll(Job.program(LateStartProgram.class, "" + LATE, goOn().toString()));
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
        line.addAll(Job.program(java, LateStartProgram.class, "" + LATE, goOn().toString()));
        requireNamed(line);
    }

    private Path goOn() {
        return folder.resolve("go-on");
    }

    /** The rank calls it once it has been named, and then the job ends well. */
    private void requireNamed(List<String> line) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(line).redirectErrorStream(true);
        builder.environment().putAll(Map.of("HVD_BACKEND", "mpi", "HOROVOD_START_TIMEOUT", "3"));
        Process job = builder.start();
        List<String> output = new ArrayList<>();
        try (BufferedReader lines = job.inputReader()) {
            for (String said = lines.readLine(); said != null; said = lines.readLine()) {
                output.add(said);
                if (said.contains(SENTENCE)) {
                    Files.writeString(goOn(), "");
                }
            }
        }

        assertThat(job.waitFor()).as(String.join("\n", output)).isZero();
        String process = words(output, "LATE process ").findFirst().orElseThrow();
        assertThat(words(output, SENTENCE))
                .containsExactly("on this host these have not: rank " + LATE + " (process " + process + ")");
        assertThat(output).anyMatch(said -> said.contains("rank 0 has waited for 3 s (HOROVOD_START_TIMEOUT)"));
    }

    /** What follows these words in the lines that have them. */
    private static Stream<String> words(List<String> output, String before) {
        return output.stream()
                .filter(said -> said.contains(before))
                .map(said -> said.substring(said.indexOf(before) + before.length()));
    }
}
