package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.contract.GroupContractTest;
import io.hvd.contract.MovementContractTest;
import io.hvd.faults.FaultyProgram;
import io.hvd.faults.HangProgram;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.testing.InsideMpirun;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs of horovodrun's under MPICH, whose launcher is Hydra. Open MPI may be installed beside it. */
final class HydraIT {

    private static final String JAVA =
            Runtime.version().feature() >= 22 ? System.getProperty("java.home") : System.getProperty("hvd.jdk22", "");

    @TempDir
    private Path folder;

    private final Map<String, String> environment = new HashMap<>();

    /** An mpirun of its own, whatever PATH has. */
    @BeforeEach
    void requireMpich() throws IOException {
        assumeTrue(!JAVA.isEmpty(), "no Java 22 or newer; mvn -Dhvd.jdk22=HOME names one");
        Optional<Path> hydra = MpiInstall.onPath("mpiexec.hydra", System.getenv());
        assumeTrue(hydra.isPresent(), "no MPICH: there is no mpiexec.hydra on PATH");
        Path real = hydra.get().toRealPath();
        Files.createSymbolicLink(folder.resolve("mpirun"), real);
        Files.createSymbolicLink(folder.resolve("hydra_pmi_proxy"), real.resolveSibling("hydra_pmi_proxy"));
        environment.put("PATH", folder + ":" + System.getenv("PATH"));
        environment.put("HVD_OPENMPI_HOME", "");
        environment.put("HVD_BACKEND", "mpi");
    }

    private Job horovodrun(int ranks, String... program) {
        return Job.horovodrun(ranks, environment, List.of(program));
    }

    private Job horovodrun(int ranks, Class<?> main, String... args) {
        return Job.horovodrun(ranks, environment, Job.program(JAVA, main, args));
    }

    @ParameterizedTest
    @ValueSource(ints = 2)
    void theContractHolds(int ranks) {
        requireContract(ranks);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    @Tag("long")
    void theContractHoldsOnOtherNumbersOfRanks(int ranks) {
        requireContract(ranks);
    }

    private void requireContract(int ranks) {
        environment.put("HOROVOD_DYNAMIC_PROCESS_SETS", "1");
        environment.put("HVD_SHARED_MEMORY", "0");
        Job job = horovodrun(
                ranks,
                InsideMpirun.class,
                Stream.of(MovementContractTest.class, GroupContractTest.class)
                        .map(Class::getName)
                        .toArray(String[]::new));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("TESTS backend=mpi ranks=" + ranks, "MPICH");
    }

    @ParameterizedTest
    @CsvSource({
        "throw,     1, IllegalStateException: the disk is full",
        "exit0,     1, System.exit",
        "kill,    137, 'rank 1 on '"
    })
    void aFailureHasItsRankItsReasonAndItsExitCode(String fault, int code, String why) {
        Job job = horovodrun(3, FaultyProgram.class, fault, "1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(code);
        assertThat(job.output()).contains("horovodrun: first failure: rank 1 on ", why);
    }

    @Test
    @Tag("long")
    void theExitCodeOfARankIsTheJobs() {
        Job job = horovodrun(3, FaultyProgram.class, "exit3", "1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(3);
        assertThat(job.output()).contains("horovodrun: first failure: rank 1 on ", "System.exit");
    }

    @Test
    void programsThatEndWithoutCloseHaveFailedAlthoughTheyExitWithZero() {
        Job job = horovodrun(2, FaultyProgram.class, "unclosed", "-1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output()).contains("the program ended before HvdContext.close()");
    }

    /** Hydra itself would wait for the others. */
    @Test
    void aRankThatFailsBeforeItHasCalledMpiEndsTheJob() {
        Job job = horovodrun(2, "sh", "-c", "[ $PMI_RANK = 0 ] || exit 7; exec sleep 600");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(7);
        assertThat(job.output()).contains("first failure: rank 1 on ", "ended with exit code 7");
    }

    @ParameterizedTest
    @CsvSource({
        "stuck, rank 1 has not called allreduce \"a\": it is at ",
        "stop,  'rank 1 is stopped (process state T), process '"
    })
    @Tag("timing")
    void aRankThatTheOthersWaitForIsNamed(String fault, String why) {
        environment.put("HOROVOD_STALL_CHECK_TIME_SECONDS", "2");
        environment.put("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "3");
        environment.put("HVD_REPORT_DIR", folder.toString());

        Job job = horovodrun(3, HangProgram.class, fault, "1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.lines("hvd: HANG: ")).singleElement().asString().startsWith("hvd: HANG: " + why);
        assertThat(job.output()).contains("horovodrun: first failure: rank ", "the job hangs: " + why);
    }

    @Test
    void forTcpTheRanksAreStartedWithoutIt() {
        environment.put("HVD_BACKEND", "tcp");

        Job job = horovodrun(2, FaultyProgram.class, "unclosed", "-1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output())
                .contains("HVD_BACKEND=tcp needs no MPI", "the program ended before HvdContext.close()");
    }

    @Test
    void theLibraryOfAnotherMpiThanTheLaunchersIsRefused() {
        environment.put("HVD_MPI_LIBRARY", "libmpi.so.40");

        Job job = horovodrun(2, FaultyProgram.class, "none", "-1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output()).contains("HVD-102", "this job has only 1, on", "HVD_MPI_LIBRARY");
    }
}
