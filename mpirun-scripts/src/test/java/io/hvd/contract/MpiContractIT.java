package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.InsideMpirun;
import io.hvd.testing.Job;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract under real mpirun: one job per number of ranks, with all its classes. */
class MpiContractIT {
    private static final List<Class<? extends Contract>> CLASSES = List.of(
            CollectiveContractTest.class,
            ArithmeticContractTest.class,
            MovementContractTest.class,
            ManyRoundsContractTest.class,
            MismatchContractTest.class,
            GroupContractTest.class,
            JoinContractTest.class,
            ProcessSetContractTest.class,
            UnevenSetContractTest.class,
            PreparedContractTest.class,
            StepContractTest.class,
            StepExitContractTest.class,
            HorovodContractTest.class);

    /** No test of the contract asks for more. */
    private static final int RANKS_FOR_ALL_TESTS = 4;

    private static final Pattern COUNTS =
            Pattern.compile("TESTS backend=(\\w+) ranks=(\\d+) passed=(\\d+) skipped=(\\d+)");
    private static final Map<String, Integer> TESTS_BY_JOB = new HashMap<>();

    @BeforeAll
    static void forget() {
        TESTS_BY_JOB.clear();
    }

    @ParameterizedTest(name = "{0} processes")
    @ValueSource(ints = {1, 2, 4})
    void theContractHoldsUnderMpirun(int ranks) {
        requireAllPassed(ranks, "ranks=" + ranks, Map.of());
    }

    @Test
    @Tag("long")
    void theContractHoldsForEightRanks() {
        requireAllPassed(8, "ranks=8", Map.of());
    }

    @Test
    void theContractHoldsWithoutFusionAndWithATinyStage() {
        requireAllPassedFused("0");
    }

    @Test
    @Tag("long")
    void theContractHoldsWithLittleFusionAndATinyStage() {
        requireAllPassedFused("64");
    }

    private static void requireAllPassedFused(String threshold) {
        Map<String, String> little =
                Map.of("HOROVOD_FUSION_THRESHOLD", threshold, "HVD_STAGE_BYTES", "4096", "HVD_SHARED_MEMORY", "0");
        requireAllPassed(2, "threshold=" + threshold, little);
    }

    /** With a batch for each tensor, as without fusion, there would be a batch's garbage for each. */
    @ParameterizedTest(name = "shared memory {0}")
    @ValueSource(strings = {"1", "0"})
    void aStepMakesNoObjectPerTensor(String sharedMemory) {
        Job job = job(2, Map.of("HVD_SHARED_MEMORY", sharedMemory), Stream.of(), List.of(AllocationContractTest.class));
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("GARBAGE")).as(job.output()).hasSize(1);
    }

    /** Each test makes the ranks anew. */
    @Test
    void theContractHoldsForThreadsOfSeveralProcesses() {
        requireHybridPassed(2, 2, "4194304");
    }

    @Test
    @Tag("long")
    void theContractHoldsForOneThreadOfEachProcess() {
        requireHybridPassed(2, 1, "4194304");
    }

    /** Process sets have unlike numbers of members on the processes. */
    @Test
    @Tag("long")
    void theContractHoldsForThreadsOfThreeProcesses() {
        requireHybridPassed(3, 2, "4096");
    }

    private static void requireHybridPassed(int processes, int threads, String stageBytes) {
        Job job = contract(processes, Map.of("HVD_STAGE_BYTES", stageBytes), Stream.of("threads=" + threads));
        requireAllPassed(job, "hybrid", processes * threads, processes + "x" + threads);
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
    void theContractHoldsRoundTheRing() {
        requireAllPassedOnRing("4096");
    }

    @Test
    @Tag("long")
    void theContractHoldsRoundTheRingInOneLap() {
        requireAllPassedOnRing("4194304");
    }

    private static void requireAllPassedOnRing(String stageBytes) {
        Map<String, String> ring =
                Map.of("HVD_ALLREDUCE_ALGORITHM", "ring", "HVD_SHARED_MEMORY", "0", "HVD_STAGE_BYTES", stageBytes);
        requireAllPassed(3, "ring=" + stageBytes, ring);
    }

    private static void requireAllPassed(int ranks, String label, Map<String, String> settings) {
        requireAllPassed(contract(ranks, settings, Stream.of()), "mpi", ranks, label);
    }

    private static Job contract(int processes, Map<String, String> settings, Stream<String> flags) {
        return job(processes, settings, flags, CLASSES);
    }

    private static Job job(
            int processes,
            Map<String, String> settings,
            Stream<String> flags,
            List<Class<? extends Contract>> classes) {
        Map<String, String> environment = new HashMap<>(settings);
        environment.putAll(Ranks.SETTINGS);
        environment.put("HOROVOD_DYNAMIC_PROCESS_SETS", "1");
        return Job.horovodrun(
                processes,
                environment,
                InsideMpirun.class,
                Stream.concat(flags, classes.stream().map(Class::getName)).toArray(String[]::new));
    }

    private static void requireAllPassed(Job job, String backend, int ranks, String label) {
        assertThat(job.exitCode()).as(job.output()).isZero();
        Matcher counts = COUNTS.matcher(job.output());
        assertThat(counts.find()).as(job.output()).isTrue();
        assertThat(counts.group(1)).isEqualTo(backend);
        assertThat(counts.group(2)).isEqualTo(String.valueOf(ranks));
        int passed = Integer.parseInt(counts.group(3));
        int skipped = Integer.parseInt(counts.group(4));
        assertThat(skipped == 0).as(counts.group()).isEqualTo(ranks >= RANKS_FOR_ALL_TESTS);
        TESTS_BY_JOB.put(label, passed + skipped);
        System.out.printf("%s %s seconds=%.1f%n", counts.group(), label, job.seconds());
    }

    /** A class that was forgotten, or a test that stopped half-way, would show here. */
    @AfterAll
    static void everyJobRanAllTests() {
        long tests = CLASSES.stream()
                .flatMap(type -> Stream.of(type.getDeclaredMethods()))
                .filter(method -> method.isAnnotationPresent(org.junit.jupiter.api.Test.class))
                .count();
        assertThat(tests).isPositive();
        assertThat(TESTS_BY_JOB)
                .allSatisfy((job, counted) -> assertThat(counted).as(job).isEqualTo(Math.toIntExact(tests)));
    }
}
