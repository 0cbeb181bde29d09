package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class MpirunLineTest {

    private static final MpiVersion V4 = new MpiVersion(4, 1, "Open MPI 4.1.4");
    private static final MpiVersion V5 = new MpiVersion(5, 0, "Open MPI 5.0.7");

    /** 4 cores, an ordinary user, no container, no fabric, called here. */
    private static final Machine PLAIN =
            new Machine(4, 1000, false, Optional.empty(), Set.of("localhost", "here"), Map.of("PATH", "/bin"));

    @Test
    void theWholeLineForOneHostAndOpenMpi4() {
        assertThat(line(V4, root(container(PLAIN)), "-np", "8", "java", "-jar", "a b.jar"))
                .isEqualTo("mpirun --allow-run-as-root -np 8 --bind-to none --map-by slot --oversubscribe"
                        + " --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,vader,tcp"
                        + " --mca btl_vader_single_copy_mechanism none --mca opal_signal 31"
                        + " -x UCX_ERROR_SIGNALS= -x HVD_FAILURE_DIR java -jar 'a b.jar'");
    }

    @Test
    void theWholeLineForOneHostAndOpenMpi5() {
        assertThat(line(V5, root(container(PLAIN)), "-np", "8", "java", "-jar", "a b.jar"))
                .isEqualTo("mpirun --allow-run-as-root -np 8 --bind-to none --map-by slot:OVERSUBSCRIBE"
                        + " --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,sm"
                        + " --mca smsc ^cma --mca opal_signal 31"
                        + " -x UCX_ERROR_SIGNALS= -x HVD_FAILURE_DIR java -jar 'a b.jar'");
    }

    @Test
    void onlyRootIsAllowedToRunAsRoot() {
        assertThat(line(V4, PLAIN, "-np", "1", "true")).doesNotContain("root");
        assertThat(line(V5, root(PLAIN), "-np", "1", "true")).contains(" --allow-run-as-root ");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void ranksWithTwoCoresEachNeitherOversubscribeNorYield(int ranks) {
        for (MpiVersion version : List.of(V4, V5)) {
            assertThat(line(version, PLAIN, "-np", "" + ranks, "true"))
                    .contains(" --map-by slot ")
                    .doesNotContain("yield")
                    .doesNotContainIgnoringCase("oversubscribe");
        }
    }

    /** A rank that trains and communicates at the same time keeps two threads busy. */
    @ParameterizedTest
    @ValueSource(ints = {3, 4})
    void ranksWithACoreButNotTwoYieldWhenTheyWait(int ranks) {
        for (MpiVersion version : List.of(V4, V5)) {
            assertThat(line(version, PLAIN, "-np", "" + ranks, "true"))
                    .contains(" --map-by slot ", " --mca mpi_yield_when_idle 1 ")
                    .doesNotContainIgnoringCase("oversubscribe");
        }
    }

    @Test
    void slotsGivenForThisHostSufficeButRanksBeyondItsCoresYield() {
        for (MpiVersion version : List.of(V4, V5)) {
            assertThat(line(version, PLAIN, "-np", "5", "-H", "localhost:8", "true"))
                    .contains(" -H localhost:8 ", " --mca mpi_yield_when_idle 1 ", " --map-by slot ")
                    .doesNotContainIgnoringCase("oversubscribe");
        }
    }

    @Test
    void onlyTheRanksOfThisHostAreComparedWithItsCores() {
        assertThat(line(V4, PLAIN, "-np", "6", "-H", "here:2,there:4", "true")).doesNotContain("yield");
        assertThat(line(V4, PLAIN, "-np", "6", "-H", "there:4,here:8", "true")).doesNotContain("yield");
        assertThat(line(V4, PLAIN, "-np", "7", "-H", "there:4,here:8", "true")).contains("yield");
    }

    @Test
    void withoutAFabricTransportsAreNarrowedAndItIsSaid() {
        assertThat(explained(V4, PLAIN, "-np", "2", "true"))
                .contains("--mca pml ob1", "no InfiniBand, RoCE or EFA here");
    }

    @Test
    void aFabricLeavesTransportsToOpenMpiAndItIsSaid() {
        Machine machine = withFabric(PLAIN, "mlx5_0 (InfiniBand)");

        for (MpiVersion version : List.of(V4, V5)) {
            assertThat(line(version, machine, "-np", "2", "true"))
                    .doesNotContain("pml", "btl")
                    .contains("-x HFI_NO_BACKTRACE=1 -x IPATH_NO_BACKTRACE=1");
            assertThat(explained(version, machine, "-np", "2", "true"))
                    .contains("left to Open MPI, found mlx5_0 (InfiniBand)");
        }
    }

    @Test
    void whereNoRankRunsHereTheOtherHostsMayHaveAFabric() {
        assertThat(line(V4, PLAIN, "-np", "2", "-H", "a:1,b:1", "true")).doesNotContain("pml", "btl");
        assertThat(explained(V4, PLAIN, "-np", "2", "-H", "a:1,b:1", "true")).contains("no rank runs on this machine");
        assertThat(line(V4, PLAIN, "-np", "2", "-H", "here:1,b:1", "true")).contains("--mca btl self,vader,tcp");
    }

    @Test
    void outsideContainersTheCopyMechanismIsLeftAlone() {
        assertThat(line(V4, PLAIN, "-np", "2", "true")).doesNotContain("single_copy");
        assertThat(line(V5, PLAIN, "-np", "2", "true")).doesNotContain("smsc");
    }

    @ParameterizedTest
    @ValueSource(strings = {"pml", "btl", "mtl"})
    void transportsChosenByTheUserAreNotTouched(String parameter) {
        String[] args = {"-np", "2", "--mpi-args=--mca " + parameter + " x", "true"};
        Machine byVariable = withEnvironment(PLAIN, "OMPI_MCA_" + parameter, "x");

        assertThat(line(V4, PLAIN, args))
                .contains(" --mca " + parameter + " x true")
                .doesNotContain("ob1", "vader");
        assertThat(line(V4, byVariable, "-np", "2", "true")).doesNotContain("ob1", "vader");
        assertThat(explained(V4, byVariable, "-np", "2", "true")).contains("as set by OMPI_MCA_" + parameter);
    }

    @Test
    void everyOtherDefaultGivesWayToTheUserToo() {
        String line = line(
                V4,
                container(PLAIN),
                "-np",
                "8",
                "--mpi-args=-bind-to core --map-by node --oversubscribe --mca mpi_yield_when_idle 0"
                        + " -mca opal_signal 6 --mca btl_vader_single_copy_mechanism cma -x UCX_ERROR_SIGNALS=11",
                "true");

        assertThat(line)
                .isEqualTo("mpirun -np 8 --mca pml ob1 --mca btl self,vader,tcp -x HVD_FAILURE_DIR"
                        + " -bind-to core --map-by node --oversubscribe --mca mpi_yield_when_idle 0 -mca opal_signal 6"
                        + " --mca btl_vader_single_copy_mechanism cma -x UCX_ERROR_SIGNALS=11 true");
    }

    @Test
    void aResourceManagerSettlesHostsAndSlots() {
        Machine slurm = withEnvironment(withEnvironment(PLAIN, "SLURM_JOB_ID", "7"), "SLURM_JOB_NODELIST", "n[1-2]");

        assertThat(line(V4, slurm, "-np", "64", "true")).doesNotContain("oversubscribe", "yield", "-H ", "pml");
        assertThat(explained(V4, slurm, "-np", "64", "true")).contains("mpirun takes those of Slurm job 7");
        assertThat(line(V4, slurm, "-np", "64", "true")).contains("-x PATH -x SLURM_JOB_ID");
    }

    @Test
    void aDefaultHostfileInTheEnvironmentIsHonoured() {
        Machine operator = withEnvironment(PLAIN, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");

        assertThat(line(V4, operator, "-np", "64", "true")).doesNotContain("oversubscribe", "-H ");
        assertThat(explained(V4, operator, "-np", "64", "true")).contains("/etc/mpi/hostfile");
    }

    @Test
    void otherHostsGetTheEnvironmentWithoutWhatIsLocalOrSecret() {
        Machine machine = PLAIN;
        for (String name : List.of(
                "LD_LIBRARY_PATH",
                "HOROVOD_CYCLE_TIME",
                "NCCL_DEBUG",
                "BASH_FUNC_module%%",
                "BASH_FUNC_ml",
                "OLDPWD",
                "PWD",
                "CUDA_VISIBLE_DEVICES",
                "MY_CUDA_VISIBLE_DEVICES",
                "HOROVOD_SECRET_KEY",
                "_HOROVOD_SECRET_KEY",
                "OMPI_MCA_foo",
                "HVD_FAILURE_DIR",
                "not-a-name")) {
            machine = withEnvironment(machine, name, "secret value");
        }

        assertThat(line(V4, machine, "-np", "2", "-H", "here:1,there:1", "true"))
                .endsWith(" -x HVD_FAILURE_DIR -x HOROVOD_CYCLE_TIME -x LD_LIBRARY_PATH -x NCCL_DEBUG -x PATH true")
                .doesNotContain("secret value");
        assertThat(line(V4, machine, "-np", "2", "-H", "here:2,there:1", "true"))
                .as("all ranks on this host")
                .endsWith(" -x HVD_FAILURE_DIR true");
    }

    @Test
    void aVariableTheUserExportsIsNotExportedTwice() {
        assertThat(line(V4, PLAIN, "-np", "1", "-H", "there:1", "--mpi-args=-x PATH=/opt/bin", "true"))
                .containsOnlyOnce("PATH");
        assertThat(line(V4, withEnvironment(PLAIN, "UCX_ERROR_SIGNALS", "6"), "-np", "1", "true"))
                .doesNotContain("UCX_ERROR_SIGNALS");
    }

    @Test
    void sshAndInterfacesTakeTheNamesOfTheVersion() {
        String[] args = {
            "-np", "2", "-H", "a:1,b:1", "-p", "2222", "-i", "/k", "--network-interfaces", "eth0,eth1", "true"
        };

        assertThat(line(V4, PLAIN, args))
                .contains("--mca plm_rsh_args '-p 2222 -i /k'")
                .contains("--mca btl_tcp_if_include eth0,eth1 --mca oob_tcp_if_include eth0,eth1")
                .contains("-x NCCL_SOCKET_IFNAME=eth0,eth1");
        assertThat(line(V5, PLAIN, args))
                .contains("--prtemca plm_ssh_args '-p 2222 -i /k'")
                .contains("--mca btl_tcp_if_include eth0,eth1 --prtemca prte_if_include eth0,eth1");
    }

    @Test
    void onOneHostNoInterfaceIsNeededToStart() {
        for (MpiVersion version : List.of(V4, V5)) {
            assertThat(line(version, PLAIN, "-np", "2", "--network-interfaces", "lo", "true"))
                    .contains("--mca btl_tcp_if_include lo")
                    .doesNotContain("oob_tcp", "prte_if");
        }
    }

    @Test
    void betweenHostsTcpJoinsSharedMemory() {
        assertThat(line(V5, PLAIN, "-np", "2", "-H", "here:1,b:1", "true")).contains("--mca btl self,sm,tcp ");
        assertThat(line(V5, PLAIN, "-np", "2", "-H", "here:2,b:1", "true")).contains("--mca btl self,sm ");
    }

    @Test
    void outputFilesTakeTheFlagOfTheVersion() {
        assertThat(line(V4, PLAIN, "-np", "1", "--output-filename", "/out", "true"))
                .contains("--output-filename /out ");
        assertThat(line(V5, PLAIN, "-np", "1", "--output-filename", "/out", "true"))
                .contains("--output dir=/out ");
    }

    @Test
    void noArgumentStandsWithoutAReasonAndNoParameterTwice() {
        for (MpiVersion version : List.of(V4, V5)) {
            for (Machine machine : List.of(PLAIN, root(container(PLAIN)), withFabric(PLAIN, "efa_0 (EFA)"))) {
                for (String hosts : List.of("here:9", "here:2,there:9", "there:9")) {
                    MpirunLine line = build(version, machine, "-np", "9", "-H", hosts, "true");

                    assertThat(line.arguments())
                            .noneMatch(argument -> argument.reason().isBlank());
                    assertThat(parameters(line)).doesNotHaveDuplicates();
                }
            }
        }
    }

    private static Stream<String> parameters(MpirunLine line) {
        return line.arguments().stream()
                .filter(argument -> argument.words().size() == 3)
                .map(argument -> argument.words().get(1));
    }

    private static String line(MpiVersion version, Machine machine, String... args) {
        return ShellWords.join(build(version, machine, args).words());
    }

    private static String explained(MpiVersion version, Machine machine, String... args) {
        return build(version, machine, args).explained();
    }

    private static MpirunLine build(MpiVersion version, Machine machine, String... args) {
        return MpirunLine.of("mpirun", new Job(LaunchOptions.parse(args), machine, version));
    }

    private static Machine root(Machine m) {
        return new Machine(m.cores(), 0, m.container(), m.fabric(), m.names(), m.environment());
    }

    private static Machine container(Machine m) {
        return new Machine(m.cores(), m.uid(), true, m.fabric(), m.names(), m.environment());
    }

    private static Machine withFabric(Machine m, String fabric) {
        return new Machine(m.cores(), m.uid(), m.container(), Optional.of(fabric), m.names(), m.environment());
    }

    private static Machine withEnvironment(Machine m, String name, String value) {
        var environment = new TreeMap<>(m.environment());
        environment.put(name, value);
        return new Machine(m.cores(), m.uid(), m.container(), m.fabric(), m.names(), environment);
    }
}
