package io.hvd.launch.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.contract.AllocationContractTest;
import io.hvd.contract.Contract;
import io.hvd.contract.GroupContractTest;
import io.hvd.contract.MovementContractTest;
import io.hvd.contract.ProcessSetContractTest;
import io.hvd.contract.UnevenSetContractTest;
import io.hvd.launch.Horovodrun;
import io.hvd.testing.InsideMpirun;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract where hvd calls Open MPI's library by Java's foreign functions, and mpi.jar is not used. */
class ForeignMpiIT {
    private static final String LIBRARY = "libmpi.so.40";

    /** The classes whose calls of MPI differ most: reductions, pieces of all lengths, messages, communicators. */
    private static final List<Class<? extends Contract>> MOST_CALLS = List.of(
            MovementContractTest.class,
            GroupContractTest.class,
            ProcessSetContractTest.class,
            UnevenSetContractTest.class);

    private final String java =
            Runtime.version().feature() >= 22 ? System.getProperty("java.home") : System.getProperty("hvd.jdk22", "");

    @BeforeEach
    void requireForeignFunctions() {
        assumeTrue(!java.isEmpty(), "no Java 22 or newer; mvn -Dhvd.jdk22=HOME names one");
    }

    private Job job(int ranks, String library, Map<String, String> settings, List<Class<? extends Contract>> classes) {
        Map<String, String> environment = new HashMap<>(settings);
        environment.put("HOROVOD_DYNAMIC_PROCESS_SETS", "1");
        environment.put("HVD_MPI_LIBRARY", library);
        String[] names = classes.stream().map(Class::getName).toArray(String[]::new);
        return Job.horovodrun(ranks, environment, Job.program(java, InsideMpirun.class, names));
    }

    @Test
    void theContractHoldsWithoutMpiJar() {
        requireContract(3, "0");
    }

    /** HydraIT's jobs have both every day. */
    @Test
    @Tag("long")
    void theContractHoldsWithoutMpiJarBesideSharedMemory() {
        requireContract(2, "1");
    }

    private void requireContract(int ranks, String sharedMemory) {
        Job job = job(ranks, LIBRARY, Map.of("HVD_SHARED_MEMORY", sharedMemory), MOST_CALLS);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("TESTS backend=mpi ranks=" + ranks);
    }

    @Test
    void aLibraryThatIsNotThereIsNamedInTheLoadersWords() {
        Job job = job(1, "/no/such/libmpi.so", Map.of("HVD_BACKEND", "mpi"), List.of(AllocationContractTest.class));

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output())
                .contains("MPI's library cannot be loaded: /no/such/libmpi.so: cannot open shared object file");
    }

    /** An ELF file names its machine in bytes 18 and 19; 183 is AArch64. */
    @Test
    void aLibraryOfAnotherProcessorIsRefused(@TempDir Path folder) throws IOException {
        byte[] elf = Files.readAllBytes(Path.of(java, "lib", "libnet.so"));
        elf[18] = (byte) 183;
        Path other = Files.write(folder.resolve("libmpi.so.40"), elf);

        Job job = job(1, other.toString(), Map.of("HVD_BACKEND", "mpi"), List.of(AllocationContractTest.class));

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output())
                .contains("MPI's library cannot be loaded: " + other + " is not for this Java's processor");
    }

    /** With a library, hvd calls it by foreign functions; without one, by mpi.jar if it is there. */
    @ParameterizedTest
    @ValueSource(strings = {LIBRARY, ""})
    void whereNativeAccessIsDeniedTheFlagThatAllowsItIsNamed(String library) {
        List<String> command = Job.program(Horovodrun.class, "--no-jvm-flags", "-np", "1");
        command.addAll(Job.program(java, InsideMpirun.class, AllocationContractTest.class.getName()));
        command.remove("--enable-native-access=ALL-UNNAMED");
        Job job = Job.run(
                command,
                Map.of(
                        "HVD_BACKEND", "mpi",
                        "HVD_MPI_LIBRARY", library,
                        "JDK_JAVA_OPTIONS", "-XX:+IgnoreUnrecognizedVMOptions --illegal-native-access=deny"));

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("Java does not let hvd call MPI: add --enable-native-access=ALL-UNNAMED");
    }

    @Test
    void aLibraryThatIsNoMpiIsRefusedBeforeItIsCalled() {
        Job job = job(1, "libm.so.6", Map.of("HVD_BACKEND", "mpi"), List.of(AllocationContractTest.class));

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("libm.so.6 is no MPI library that hvd knows");
    }
}
