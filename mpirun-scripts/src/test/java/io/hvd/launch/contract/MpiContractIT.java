package io.hvd.launch.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.contract.AllocationContractTest;
import io.hvd.contract.ArithmeticContractTest;
import io.hvd.contract.CollectiveContractTest;
import io.hvd.contract.Contract;
import io.hvd.contract.GroupContractTest;
import io.hvd.contract.HorovodContractTest;
import io.hvd.contract.JoinContractTest;
import io.hvd.contract.ManyRoundsContractTest;
import io.hvd.contract.MismatchContractTest;
import io.hvd.contract.MovementContractTest;
import io.hvd.contract.PreparedContractTest;
import io.hvd.contract.PreparedMovementContractTest;
import io.hvd.contract.ProcessSetContractTest;
import io.hvd.contract.SparseContractTest;
import io.hvd.contract.StepContractTest;
import io.hvd.contract.StepExitContractTest;
import io.hvd.contract.UnevenSetContractTest;
import io.hvd.testing.InsideMpirun;
import io.hvd.testing.Job;
import io.hvd.testing.TlsKeys;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The contract under real mpirun: one job per number of ranks, with all its classes. Jobs with other settings run those
 * classes in the everyday tier for which these make the greatest difference, and all classes in the long tier.
 */
class MpiContractIT {
    static final List<Class<? extends Contract>> CLASSES = List.of(
            CollectiveContractTest.class,
            ArithmeticContractTest.class,
            MovementContractTest.class,
            ManyRoundsContractTest.class,
            MismatchContractTest.class,
            GroupContractTest.class,
            JoinContractTest.class,
            SparseContractTest.class,
            ProcessSetContractTest.class,
            UnevenSetContractTest.class,
            PreparedContractTest.class,
            PreparedMovementContractTest.class,
            StepContractTest.class,
            StepExitContractTest.class,
            HorovodContractTest.class);

    /** Tensors of all types and sizes in every collective, of many rounds, and in groups that are fused. */
    private static final List<Class<? extends Contract>> OF_TINY_STAGES = List.of(
            CollectiveContractTest.class,
            MovementContractTest.class,
            ManyRoundsContractTest.class,
            GroupContractTest.class);

    /** Values that overflow show in which order the ring adds. */
    private static final List<Class<? extends Contract>> OF_RING = List.of(ArithmeticContractTest.class);

    /** The classes whose way depends on the processes that the members of a set, or of a step, are threads of. */
    private static final List<Class<? extends Contract>> OF_HYBRID = List.of(
            HorovodContractTest.class,
            JoinContractTest.class,
            ProcessSetContractTest.class,
            UnevenSetContractTest.class);

    /** No test of the contract asks for more. */
    private static final int RANKS_FOR_ALL_TESTS = 4;

    private static final Pattern COUNTS =
            Pattern.compile("TESTS backend=(\\w+) ranks=(\\d+) passed=(\\d+) skipped=(\\d+)");

    @Test
    void theContractHoldsForOneUnderMpirun() {
        requireAllPassed(1, "ranks=1", Map.of());
    }

    /** A job with a tiny stage has the many rounds. */
    @Test
    @Tag("long")
    void theContractHoldsForTwoUnderMpirun() {
        requireAllPassed(2, "ranks=2", Map.of(), allBut(List.of(ManyRoundsContractTest.class)));
    }

    /** All but the classes that compute most, which run with fewer ranks. */
    @Test
    void theContractHoldsForFourUnderMpirun() {
        requireAllPassed(
                4,
                "ranks=4",
                Map.of(),
                allBut(List.of(
                        CollectiveContractTest.class, ArithmeticContractTest.class, ManyRoundsContractTest.class)));
    }

    private static List<Class<? extends Contract>> allBut(List<Class<? extends Contract>> left) {
        List<Class<? extends Contract>> most = new ArrayList<>(CLASSES);
        most.removeAll(left);
        return most;
    }

    @ParameterizedTest(name = "{0} processes")
    @ValueSource(ints = {2, 3, 4, 5, 6, 7, 8})
    @Tag("long")
    void theWholeContractHoldsUnderMpirun(int ranks) {
        requireAllPassed(ranks, "ranks=" + ranks, Map.of());
    }

    @Test
    void collectivesAndGroupsHoldWithoutFusionAndWithATinyStage() {
        requireAllPassedFused("0", OF_TINY_STAGES);
    }

    @ParameterizedTest(name = "threshold {0}")
    @ValueSource(strings = {"0", "64"})
    @Tag("long")
    void theContractHoldsWithLittleFusionOrNoneAndATinyStage(String threshold) {
        requireAllPassedFused(threshold, CLASSES);
    }

    private static void requireAllPassedFused(String threshold, List<Class<? extends Contract>> classes) {
        Map<String, String> little =
                Map.of("HOROVOD_FUSION_THRESHOLD", threshold, "HVD_STAGE_BYTES", "4096", "HVD_SHARED_MEMORY", "0");
        requireAllPassed(2, "threshold=" + threshold, little, classes);
    }

    /** With a batch for each tensor, as without fusion, there would be a batch's garbage for each. */
    @Test
    void aStepMakesNoObjectPerTensor() {
        requireNoObjectPerTensor("1");
    }

    @Test
    @Tag("long")
    void norDoesAStepThroughMpiAlone() {
        requireNoObjectPerTensor("0");
    }

    private static void requireNoObjectPerTensor(String sharedMemory) {
        Job job = job(2, Map.of("HVD_SHARED_MEMORY", sharedMemory), Stream.of(), List.of(AllocationContractTest.class));
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("GARBAGE")).as(job.output()).hasSize(1);
    }

    /** Each test makes the ranks anew. */
    @Test
    void collectivesJoinAndSetsHoldForThreadsOfSeveralProcesses() {
        requireHybridPassed(2, 2, "4194304", OF_HYBRID);
    }

    @ParameterizedTest(name = "{0} in each of two processes")
    @ValueSource(ints = {1, 2})
    @Tag("long")
    void theContractHoldsForThreadsOfTwoProcesses(int threads) {
        requireHybridPassed(2, threads, "4194304", CLASSES);
    }

    /** Process sets have unlike numbers of members on the processes. */
    @Test
    @Tag("long")
    void theContractHoldsForThreadsOfThreeProcesses() {
        requireHybridPassed(3, 2, "4096", CLASSES);
    }

    private static void requireHybridPassed(
            int processes, int threads, String stageBytes, List<Class<? extends Contract>> classes) {
        Job job = job(processes, Map.of("HVD_STAGE_BYTES", stageBytes), Stream.of("threads=" + threads), classes);
        requireAllPassed(job, "hybrid", processes * threads, processes + "x" + threads, classes);
    }

    /** In the everyday tier the ring and the tiny stages go through MPI alone. */
    @Test
    @Tag("long")
    void theContractHoldsThroughMpiAlone() {
        requireAllPassed(3, "alone=3", Map.of("HVD_SHARED_MEMORY", "0"));
    }

    @Test
    @Tag("long")
    void theContractHoldsForTwoThroughMpiAlone() {
        requireAllPassed(2, "alone=2", Map.of("HVD_SHARED_MEMORY", "0"));
    }

    /** With a tiny stage an allreduce is many laps of the ring. */
    @Test
    void arithmeticHoldsRoundTheRing() {
        requireAllPassedOnRing("4096", OF_RING);
    }

    @ParameterizedTest(name = "stage of {0}")
    @ValueSource(strings = {"4096", "4194304"})
    @Tag("long")
    void theContractHoldsRoundTheRingInManyLapsAndInOne(String stageBytes) {
        requireAllPassedOnRing(stageBytes, CLASSES);
    }

    private static void requireAllPassedOnRing(String stageBytes, List<Class<? extends Contract>> classes) {
        Map<String, String> ring =
                Map.of("HVD_ALLREDUCE_ALGORITHM", "ring", "HVD_SHARED_MEMORY", "0", "HVD_STAGE_BYTES", stageBytes);
        requireAllPassed(3, "ring=" + stageBytes, ring, classes);
    }

    /** Beside shared memory, with data on the connections as well. */
    @Test
    void theContractHoldsOverTcp() {
        requireAllPassedOverTcp(2, "1", List.of(ProcessSetContractTest.class, JoinContractTest.class));
        requireAllPassedOverTcp(4, "0", List.of(UnevenSetContractTest.class, PreparedMovementContractTest.class));
    }

    @ParameterizedTest(name = "{0} processes, shared memory {1}")
    @CsvSource({"1, 1", "2, 0", "2, 1", "3, 0", "4, 0", "4, 1", "5, 0", "6, 1", "7, 0", "8, 0", "8, 1"})
    @Tag("long")
    void theWholeContractHoldsOverTcp(int ranks, String sharedMemory) {
        requireAllPassedOverTcp(ranks, sharedMemory, CLASSES);
    }

    private static void requireAllPassedOverTcp(
            int ranks, String sharedMemory, List<Class<? extends Contract>> classes) {
        Map<String, String> settings = Map.of("HVD_BACKEND", "tcp", "HVD_SHARED_MEMORY", sharedMemory);
        requireAllPassed(
                job(ranks, settings, Stream.of(), classes), "tcp", ranks, "tcp=" + ranks + "," + sharedMemory, classes);
    }

    @Test
    @Tag("long")
    void theContractHoldsOverSeveralConnectionsBetweenTwoRanks() {
        Map<String, String> settings =
                Map.of("HVD_BACKEND", "tcp", "HVD_SHARED_MEMORY", "0", "HVD_TCP_CONNECTIONS", "3");
        requireAllPassed(job(3, settings, Stream.of(), CLASSES), "tcp", 3, "connections=3", CLASSES);
    }

    @Test
    @Tag("long")
    void theContractHoldsOverEncryptedConnections(@TempDir Path folder) throws IOException {
        Map<String, String> settings = Map.of(
                "HVD_BACKEND", "tcp",
                "HVD_SHARED_MEMORY", "0",
                "HVD_TLS", "1",
                "JDK_JAVA_OPTIONS", TlsKeys.make(folder, "job").options());
        requireAllPassed(job(3, settings, Stream.of(), CLASSES), "tcp", 3, "tls", CLASSES);
    }

    private static void requireAllPassed(int ranks, String label, Map<String, String> settings) {
        requireAllPassed(ranks, label, settings, CLASSES);
    }

    private static void requireAllPassed(
            int ranks, String label, Map<String, String> settings, List<Class<? extends Contract>> classes) {
        requireAllPassed(job(ranks, settings, Stream.of(), classes), "mpi", ranks, label, classes);
    }

    private static Job job(
            int processes,
            Map<String, String> settings,
            Stream<String> flags,
            List<Class<? extends Contract>> classes) {
        Map<String, String> environment = new HashMap<>(settings);
        environment.put("HOROVOD_DYNAMIC_PROCESS_SETS", "1");
        return Job.horovodrun(
                processes,
                environment,
                InsideMpirun.class,
                Stream.concat(flags, classes.stream().map(Class::getName)).toArray(String[]::new));
    }

    /** @param label says in a line of output which job it was */
    static void requireAllPassed(
            Job job, String backend, int ranks, String label, List<Class<? extends Contract>> classes) {
        assertThat(job.exitCode()).as(job.output()).isZero();
        Matcher counts = COUNTS.matcher(job.output());
        assertThat(counts.find()).as(job.output()).isTrue();
        assertThat(counts.group(1)).isEqualTo(backend);
        assertThat(counts.group(2)).isEqualTo(String.valueOf(ranks));
        int passed = Integer.parseInt(counts.group(3));
        int skipped = Integer.parseInt(counts.group(4));
        if (ranks >= RANKS_FOR_ALL_TESTS) {
            assertThat(skipped).as(counts.group()).isZero();
        } else if (classes.equals(CLASSES)) {
            assertThat(skipped).as(counts.group()).isPositive();
        }
        // A test that stopped half-way would show here.
        assertThat(passed + skipped).as(label).isEqualTo(testsOf(classes));
        System.out.printf(Locale.ROOT, "%s %s seconds=%.1f%n", counts.group(), label, job.seconds());
    }

    private static int testsOf(List<Class<? extends Contract>> classes) {
        return Math.toIntExact(classes.stream()
                .flatMap(type -> Stream.of(type.getDeclaredMethods()))
                .filter(method -> method.isAnnotationPresent(org.junit.jupiter.api.Test.class))
                .count());
    }
}
