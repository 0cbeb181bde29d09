package io.hvd.launch.line;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.jvm.InstalledJava;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.mpi.MpiVersion.Flavour;
import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.words.Argument;
import io.hvd.launch.words.ShellWords;
import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class MpirunLineTest {

    private static final MpiVersion V4 = new MpiVersion(Flavour.OPEN_MPI, 4, 1, "Open MPI 4.1.4");
    private static final MpiVersion V5 = new MpiVersion(Flavour.OPEN_MPI, 5, 0, "Open MPI 5.0.7");

    private static final MpiVersion MPICH = new MpiVersion(Flavour.HYDRA, 4, 0, "MPICH 4.0.2");
    private static final MpiVersion INTEL = new MpiVersion(Flavour.INTEL, 2021, 10, "Intel MPI 2021.10");
    private static final MpiVersion SPECTRUM = new MpiVersion(Flavour.SPECTRUM, 10, 4, "IBM Spectrum MPI 10.4");

    /** 4 cores, an ordinary user, no container, no fabric, called here. */
    private static final MachineFacts PLAIN = new MachineFacts(
            "here",
            4,
            1000,
            false,
            Optional.empty(),
            OptionalLong.of(1L << 30),
            Set.of("localhost", "here"),
            Set.of("lo", "eth0", "br-0123456789ab"),
            Map.of("PATH", "/bin"));

    @Test
    void theWholeLineForOneHostAndOpenMpi4() {
        assertThat(line(V4, root(container(PLAIN)), "-np", "8", "java", "-jar", "a b.jar"))
                .isEqualTo(
                        "mpirun --allow-run-as-root -np 8 --bind-to none --map-by slot --oversubscribe"
                                + " --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,vader"
                                + " --mca btl_vader_single_copy_mechanism none --mca opal_signal 31"
                                + " -x UCX_ERROR_SIGNALS= -x HVD_FAILURE_DIR env java -XX:+UseSerialGC -XX:CompileThresholdScaling=8 -jar 'a b.jar'");
    }

    @Test
    void theWholeLineForOneHostAndOpenMpi5() {
        assertThat(line(V5, root(container(PLAIN)), "-np", "8", "java", "-jar", "a b.jar"))
                .isEqualTo(
                        "mpirun --allow-run-as-root -np 8 --bind-to none --map-by slot:OVERSUBSCRIBE"
                                + " --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,sm"
                                + " --mca smsc ^cma --pmixmca ptl_base_if_include lo --mca opal_signal 31"
                                + " -x UCX_ERROR_SIGNALS= -x HVD_FAILURE_DIR env java -XX:+UseSerialGC -XX:CompileThresholdScaling=8 -jar 'a b.jar'");
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

    /** mpirun would take a minute to start a million of them, and say nothing meanwhile. */
    @Test
    void moreRanksThanThisMachineCanBeMeantToHoldAreRefusedUnlessTheirSlotsAreNamed() {
        assertThat(line(V4, PLAIN, "-np", "256", "true")).contains(" -np 256 ");
        for (MpiVersion version : List.of(V4, V5, MPICH)) {
            assertThatThrownBy(() -> line(version, PLAIN, "-np", "257", "true"))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContainingAll("np-exceeds-slots", "257 ranks", "4 cores", "256", "-H localhost:257");
        }
        assertThat(line(V4, PLAIN, "-np", "257", "-H", "localhost:257", "true")).contains(" -np 257 ");
        assertThat(line(V4, PLAIN, "-np", "257", "--mpi-args=--oversubscribe", "true"))
                .contains(" -np 257 ");
        MachineFacts hostfile = withEnvironment(PLAIN, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
        assertThat(line(V4, hostfile, "-np", "257", "true"))
                .as("mpirun knows the slots")
                .contains(" -np 257 ");
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
        MachineFacts machine = withFabric(PLAIN, "mlx5_0 (InfiniBand)");

        for (MpiVersion version : List.of(V4, V5)) {
            assertThat(line(version, machine, "-np", "2", "true"))
                    .doesNotContain("pml")
                    .contains(" --mca btl ^tcp ", "-x HFI_NO_BACKTRACE=1 -x IPATH_NO_BACKTRACE=1");
            assertThat(explained(version, machine, "-np", "2", "true"))
                    .contains("left to Open MPI, found mlx5_0 (InfiniBand)");
        }
    }

    @Test
    void whereNoRankRunsHereTheOtherHostsMayHaveAFabric() {
        assertThat(line(V4, PLAIN, "-np", "2", "-H", "a:1,b:1", "true"))
                .doesNotContain("pml", "btl self")
                .contains("-x HFI_NO_BACKTRACE=1 -x IPATH_NO_BACKTRACE=1");
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
        MachineFacts byVariable = withEnvironment(PLAIN, "OMPI_MCA_" + parameter, "x");

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
                .isEqualTo("mpirun -np 8 --mca pml ob1 --mca btl self,vader -x HVD_FAILURE_DIR"
                        + " -bind-to core --map-by node --oversubscribe --mca mpi_yield_when_idle 0 -mca opal_signal 6"
                        + " --mca btl_vader_single_copy_mechanism cma -x UCX_ERROR_SIGNALS=11 true");
    }

    @Test
    void aResourceManagerSettlesHostsAndSlots() {
        MachineFacts slurm =
                withEnvironment(withEnvironment(PLAIN, "SLURM_JOB_ID", "7"), "SLURM_JOB_NODELIST", "n[1-2]");

        assertThat(line(V4, slurm, "-np", "64", "true")).doesNotContain("oversubscribe", "yield", "-H ", "pml");
        assertThat(explained(V4, slurm, "-np", "64", "true")).contains("mpirun takes those of Slurm job 7");
        assertThat(line(V4, slurm, "-np", "64", "true")).contains("-x PATH -x SLURM_JOB_ID");
    }

    @Test
    void whatSlurmSaysOfItsTasksDecidesHowRanksOnThisNodeWait() {
        MachineFacts slurm = PLAIN;
        for (String variable : List.of(
                "SLURM_JOB_ID=7",
                "SLURM_JOB_NODELIST=" + PLAIN.hostname() + ",n2",
                "SLURM_TASKS_PER_NODE=64(x2)",
                "SLURM_NODEID=0")) {
            slurm = withEnvironment(slurm, variable.split("=")[0], variable.split("=")[1]);
        }

        assertThat(line(V4, slurm, "-np", "128", "true"))
                .contains("--mca mpi_yield_when_idle 1", "--mca pml ob1", "-x SLURM_JOB_ID")
                .doesNotContain("oversubscribe", "-H ", "SLURM_NODEID");
        assertThat(explained(V4, slurm, "-np", "128", "true"))
                .contains("mpirun takes those of Slurm job 7 (" + PLAIN.hostname() + ":64,n2:64)", "64 ranks here");
    }

    @Test
    void aDefaultHostfileInTheEnvironmentIsHonoured() {
        MachineFacts operator = withEnvironment(PLAIN, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");

        assertThat(line(V4, operator, "-np", "64", "true")).doesNotContain("oversubscribe", "-H ");
        assertThat(explained(V4, operator, "-np", "64", "true")).contains("/etc/mpi/hostfile");
    }

    /** mpirun would start all ranks here, and say nothing. */
    @Test
    void aDefaultHostfileOfTheOtherVersionsNameIsHandedOnByItsOwn() {
        MachineFacts operator = withEnvironment(PLAIN, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
        MachineFacts prrte = withEnvironment(PLAIN, "PRTE_MCA_prte_default_hostfile", "/etc/mpi/hostfile");

        assertThat(line(V5, operator, "-np", "64", "true"))
                .contains(" --prtemca prte_default_hostfile /etc/mpi/hostfile ", "-x HVD_LAUNCHER_ADDRESS");
        assertThat(explained(V5, operator, "-np", "64", "true"))
                .contains("OMPI_MCA_orte_default_hostfile, which Open MPI 5.0.7 does not read itself")
                .doesNotContain("mpirun takes those of");
        assertThat(line(V4, prrte, "-np", "64", "true")).contains(" --mca orte_default_hostfile /etc/mpi/hostfile ");
        assertThat(explained(V5, prrte, "-np", "64", "true"))
                .contains("mpirun takes those of PRTE_MCA_prte_default_hostfile=/etc/mpi/hostfile")
                .doesNotContain("--prtemca prte_default_hostfile");
        assertThat(explained(V5, withEnvironment(operator, "PRTE_MCA_prte_default_hostfile", "/b"), "-np", "2", "true"))
                .as("its own name counts more")
                .contains("mpirun takes those of PRTE_MCA_prte_default_hostfile=/b");
        assertThat(line(V5, operator, "-np", "2", "-H", "a:1,b:1", "true")).doesNotContain("default_hostfile");
    }

    @Test
    void sshsAgentAndArgumentsOfTheOtherVersionsNamesAreHandedOnToo() {
        MachineFacts operator = withEnvironment(
                withEnvironment(PLAIN, "OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"),
                "OMPI_MCA_plm_rsh_agent",
                "/etc/mpi/kubexec.sh");

        assertThat(line(V5, operator, "-np", "2", "-H", "a:1,b:1", "true"))
                .contains(
                        "--prtemca plm_ssh_agent /etc/mpi/kubexec.sh",
                        "--prtemca plm_ssh_args '-o ConnectionAttempts=10'");
        assertThat(line(V5, operator, "-np", "2", "-H", "a:1,b:1", "-p", "22", "true"))
                .contains("--prtemca plm_ssh_args '-p 22'")
                .doesNotContain("ConnectionAttempts");
        assertThat(line(V4, operator, "-np", "2", "-H", "a:1,b:1", "true")).doesNotContain("plm_");
        assertThat(line(V5, operator, "-np", "2", "true")).doesNotContain("plm_");
    }

    @Test
    void ranksCompareTheirJobWithTheFewestHostsThatCanHoldIt() {
        assertThat(declared(PLAIN, "-np", "4", "true")).contains("4 1 -np 4");
        assertThat(declared(PLAIN, "-np", "4", "-H", "a:2,b:2", "true")).contains("4 2 -H a:2,b:2");
        assertThat(declared(PLAIN, "-np", "2", "-H", "a:2,b:2", "true")).contains("2 1 -H a:2,b:2");
        assertThat(declared(PLAIN, "-np", "2", "-H", "localhost:1," + PLAIN.hostname() + ":1", "true"))
                .as("two names of this machine")
                .hasValueSatisfying(words -> assertThat(words).startsWith("2 1 "));
        assertThat(declared(PLAIN, "-np", "2", "-H", "a:1,b:1", "--mpi-args=--oversubscribe", "true"))
                .as("may crowd one host")
                .hasValueSatisfying(words -> assertThat(words).startsWith("2 1 "));
        assertThat(declared(PLAIN, "-np", "2", "--mpi-args=-np 1", "true"))
                .as("the user's own word for mpirun")
                .isEmpty();
    }

    /** A rank that finds fewer can say which were meant. */
    @Test
    void theHostsOfAFileAreNamedWithIt(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("hosts"), "a slots=2\nb slots=2\n");

        assertThat(declared(PLAIN, "-np", "4", "--mpi-args=--hostfile " + file, "true"))
                .contains("4 2 --mpi-args --hostfile " + file + " (a:2,b:2)");
    }

    @Test
    void hostsThatGetNoRankAreNamed() {
        assertThat(job(PLAIN, "-np", "2", "-H", "a:2,b:2,c:1", "true").idleHosts())
                .hasValueSatisfying(words -> assertThat(words).contains("-np 2", "5 slots", "no rank on b, c"));
        assertThat(job(PLAIN, "-np", "3", "-H", "a:2,b:2", "true").idleHosts()).isEmpty();
        assertThat(job(PLAIN, "-np", "2", "true").idleHosts()).isEmpty();
        assertThat(job(PLAIN, "-np", "2", "-H", "a:2,b:2", "--mpi-args=--map-by node", "true")
                        .idleHosts())
                .isEmpty();
    }

    private static LaunchFacts job(MachineFacts machine, String... args) {
        return new LaunchFacts(LaunchOptions.parse(machine.environment(), args), machine, V4);
    }

    private static Optional<String> declared(MachineFacts machine, String... args) {
        return job(machine, args).declared();
    }

    /** Open MPI 5 reads the parameters of its launcher from PRTE_MCA_ only, those of MPI from OMPI_MCA_. */
    @Test
    void aParameterCountsAsSetOnlyByAVariableThatThisVersionReads() {
        MachineFacts old = withEnvironment(PLAIN, "OMPI_MCA_oob_tcp_if_include", "ib0");
        MachineFacts now = withEnvironment(PLAIN, "PRTE_MCA_prte_if_include", "ib0");
        MachineFacts data = withEnvironment(PLAIN, "OMPI_MCA_btl_tcp_if_include", "ib0");
        String[] twoHosts = {"-np", "2", "-H", "a:1,b:1", "true"};

        assertThat(line(V4, old, twoHosts)).doesNotContain("oob_tcp_if");
        assertThat(line(V5, old, twoHosts)).contains("prte_if_exclude");
        assertThat(line(V5, now, twoHosts)).doesNotContain("prte_if");
        assertThat(line(V4, now, twoHosts)).contains("oob_tcp_if_exclude");
        assertThat(line(V5, data, twoHosts)).doesNotContain("btl_tcp_if");
    }

    @Test
    void otherHostsGetTheEnvironmentWithoutWhatIsLocalOrSecret() {
        MachineFacts machine = PLAIN;
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
                "HVD_LAUNCHER_ADDRESS",
                "not-a-name")) {
            machine = withEnvironment(machine, name, "secret value");
        }

        assertThat(line(V4, machine, "-np", "2", "-H", "here:1,there:1", "true"))
                .endsWith(
                        " -x HVD_FAILURE_DIR -x HVD_LAUNCHER_ADDRESS -x HVD_DECLARED_JOB -x HOROVOD_CYCLE_TIME -x LD_LIBRARY_PATH -x NCCL_DEBUG -x PATH true")
                .doesNotContain("secret value");
        assertThat(line(V4, machine, "-np", "2", "-H", "here:2,there:1", "true"))
                .as("all ranks on this host")
                .endsWith(" -x HVD_FAILURE_DIR true");
    }

    @Test
    void whoSetsTheKeepaliveHimselfKeepsIt() {
        assertThat(line(
                        V4,
                        PLAIN,
                        "-np",
                        "2",
                        "-H",
                        "here:1,there:1",
                        "--mpi-args=--mca oob_tcp_keepalive_time 60",
                        "true"))
                .containsOnlyOnce("keepalive");
        assertThat(line(V4, PLAIN, "-np", "2", "-H", "here:2", "true")).doesNotContain("keepalive");
    }

    @Test
    void aVariableTheUserExportsIsNotExportedTwice() {
        assertThat(line(V4, PLAIN, "-np", "1", "-H", "there:1", "--mpi-args=-x PATH=/opt/bin", "true"))
                .containsOnlyOnce("-x PATH");
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

    /** A port of Open MPI's is open to everybody, at all addresses of the host. */
    @Test
    void onOneHostNoTransportOpensAPort() {
        for (String hosts : List.of("here:2", "localhost:2", "here:2,b:1")) {
            assertThat(line(V4, PLAIN, "-np", "2", "-H", hosts, "true"))
                    .contains(" --mca btl self,vader ")
                    .doesNotContain("ptl_base");
            assertThat(line(V5, PLAIN, "-np", "2", "-H", hosts, "true"))
                    .contains(" --mca btl self,sm ", " --pmixmca ptl_base_if_include lo ");
        }
        assertThat(line(V5, PLAIN, "-np", "2", "-H", "here:1,b:1", "true")).doesNotContain("ptl_base");
        assertThat(line(V5, withEnvironment(PLAIN, "PMIX_MCA_ptl_base_if_include", "eth0"), "-np", "2", "true"))
                .doesNotContain("ptl_base");
        assertThat(line(V5, PLAIN, "-np", "2", "--mpi-args=--pmixmca ptl_base_if_include eth0", "true"))
                .containsOnlyOnce("ptl_base");
    }

    @Test
    void whereSharedMemoryIsShortSegmentsLieElsewhere() {
        MachineFacts full = withSharedMemory(withEnvironment(PLAIN, "TMPDIR", "/scratch/tmp"), 8 << 20);

        assertThat(line(V4, full, "-np", "3", "true")).doesNotContain("backing");
        assertThat(line(V4, full, "-np", "4", "true"))
                .contains(" --mca btl self,vader --mca btl_vader_backing_directory /scratch/tmp ");
        assertThat(line(V5, full, "-np", "4", "true"))
                .contains(" --mca btl self,sm --mca btl_sm_backing_directory /scratch/tmp ");
        assertThat(explained(V4, full, "-np", "4", "true")).contains("/dev/shm has only 8 MiB free for 4 ranks");
        assertThat(line(V4, withEnvironment(full, "OMPI_MCA_btl_vader_backing_directory", "/x"), "-np", "4", "true"))
                .doesNotContain("backing");
    }

    @Test
    void aJavaIsKeptOutOfMpirunsSightAndItIsSaid() {
        for (String java : List.of("java", "/opt/jdk/bin/java", "./java")) {
            String[] args = {"-np", "2", "--no-jvm-flags", java, "-Dorg.bytedeco.javacpp.cachedir=/x", "-jar", "t.jar"};
            for (MpiVersion version : List.of(V4, V5, SPECTRUM)) {
                assertThat(line(version, PLAIN, args))
                        .endsWith(" env " + String.join(" ", List.of(args).subList(3, 7)));
                assertThat(explained(version, PLAIN, args)).contains("# java is started by env, as mpirun rewrites");
            }
            assertThat(line(MPICH, PLAIN, args)).doesNotContain(" env ");
        }
        for (String other : List.of("java17", "javac", "sh", "python3", "java/run")) {
            assertThat(line(V4, PLAIN, "-np", "2", other, "cp", "x"))
                    .endsWith(" " + other + " cp x")
                    .doesNotContain(" env ");
        }
        assertThat(build(V4, PLAIN, "-np", "1", "/opt/a=b/bin/java", "-version").command())
                .containsExactly("sh", "-c", "exec \"$@\"", "sh", "/opt/a=b/bin/java", "-version");
    }

    @Test
    void aJavaThatWarnsOfNativeLibrariesIsToldThatTheyMayBeLoaded() {
        assertThat(withJava(25, "-np", "1", "java", "-cp", "x", "Main").command())
                .containsExactly("env", "java", "--enable-native-access=ALL-UNNAMED", "-cp", "x", "Main");
        assertThat(withJava(24, "-np", "1", "java", "-jar", "t.jar").explained())
                .contains("java gets --enable-native-access=ALL-UNNAMED: JDK 24 warns of native libraries otherwise");
        assertThat(withJava(23, "-np", "1", "java", "-jar", "t.jar").command())
                .doesNotContain("--enable-native-access=ALL-UNNAMED");
        assertThat(withJava(25, "-np", "1", "--no-jvm-flags", "java", "-jar", "t.jar")
                        .command())
                .doesNotContain("--enable-native-access=ALL-UNNAMED");
    }

    private static MpirunLine withJava(int release, String... args) {
        LaunchSettings settings = LaunchOptions.parse(PLAIN.environment(), args);
        var job = new LaunchFacts(settings, PLAIN, V4);
        return MpirunLine.of(
                "mpirun",
                job,
                Argument.note(""),
                Optional.of(new InstalledJava(Path.of("/opt/jdk/bin/java"), release)));
    }

    @Test
    void whatJavaItIsStandsInTheFileBesideIt(@TempDir Path folder) throws IOException {
        Path java = Files.createFile(
                Files.createDirectories(folder.resolve("jdk/bin")).resolve("java"));
        Path release = Files.writeString(folder.resolve("jdk/release"), "OS_NAME=\"Linux\"\nJAVA_VERSION=\"25.0.1\"\n");
        Path link = Files.createSymbolicLink(folder.resolve("java"), java);

        Optional<InstalledJava> expected = Optional.of(new InstalledJava(java.toRealPath(), 25));
        assertThat(InstalledJava.of(link.toString(), Map.of(), folder)).isEqualTo(expected);
        assertThat(InstalledJava.of("./java", Map.of(), folder)).isEqualTo(expected);
        Files.delete(release);
        assertThat(InstalledJava.of(link.toString(), Map.of(), folder)).isEmpty();
    }

    @Test
    void betweenHostsTcpJoinsSharedMemory() {
        assertThat(line(V5, PLAIN, "-np", "2", "-H", "here:1,b:1", "true")).contains("--mca btl self,sm,tcp ");
        assertThat(line(V5, PLAIN, "-np", "2", "-H", "here:2,b:1", "true")).contains("--mca btl self,sm ");
    }

    @Test
    void outputFilesAreMadeBesideTheCommandWhateverTheVersion() {
        for (MpiVersion version : List.of(V4, V5, MPICH)) {
            MpirunLine line = build(version, PLAIN, "-np", "12", "--output-filename", "/o ut", "java", "-jar", "a b");

            assertThat(line.command())
                    .startsWith("sh", "-c")
                    .endsWith(
                            "horovodrun-output",
                            "/o ut",
                            "2",
                            "java",
                            "-XX:+UseSerialGC",
                            "-XX:CompileThresholdScaling=8",
                            "-jar",
                            "a b");
            assertThat(ShellWords.join(line.words())).doesNotContain("--output");
            assertThat(line.explained()).contains("/o ut/rank.N/stdout");
        }
    }

    @Test
    void prefixesTakeTheFlagsOfTheVersion() {
        String[] args = {"-np", "1", "-prefix-timestamp", "true"};

        assertThat(line(V4, PLAIN, args)).contains(" --tag-output --timestamp-output ");
        assertThat(line(V5, PLAIN, args)).contains(" --output tag,timestamp ");
        assertThat(line(MPICH, PLAIN, args)).contains(" -prepend-rank ");
    }

    @Test
    void theWholeLineForTwoHosts() {
        Map<String, Set<String>> others = Map.of("b", Set.of("lo", "ens3", "virbr1"));
        String[] args = {"-np", "4", "-H", "here:2,b:2", "-p", "22", "--cycle-time-ms", "2.5", "java", "-jar", "t.jar"};

        assertThat(ShellWords.join(build(V4, PLAIN, others, args).words()))
                .isEqualTo(
                        "mpirun -np 4 -H here:2,b:2 --bind-to none --map-by slot --mca pml ob1"
                                + " --mca btl self,vader,tcp"
                                + " --mca btl_tcp_if_exclude br-0123456789ab,docker0,lo,virbr0,virbr1"
                                + " --mca oob_tcp_if_exclude br-0123456789ab,docker0,lo,virbr0,virbr1"
                                + " -x NCCL_SOCKET_IFNAME=^br-0123456789ab,docker0,lo,virbr0,virbr1"
                                + " --mca opal_signal 31 -x UCX_ERROR_SIGNALS= --mca plm_rsh_args '-p 22'"
                                + " --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1"
                                + " --mca oob_tcp_keepalive_probes 2"
                                + " -x HVD_FAILURE_DIR -x HVD_LAUNCHER_ADDRESS -x HVD_DECLARED_JOB -x HOROVOD_CYCLE_TIME=2.5 -x PATH env java -jar t.jar");
        assertThat(ShellWords.join(build(V5, PLAIN, others, args).words()))
                .isEqualTo(
                        "mpirun -np 4 -H here:2,b:2 --bind-to none --map-by slot --mca pml ob1"
                                + " --mca btl self,sm,tcp"
                                + " --mca btl_tcp_if_exclude br-0123456789ab,docker0,lo,virbr0,virbr1"
                                + " --prtemca prte_if_exclude br-0123456789ab,docker0,lo,virbr0,virbr1"
                                + " -x NCCL_SOCKET_IFNAME=^br-0123456789ab,docker0,lo,virbr0,virbr1"
                                + " --mca opal_signal 31 -x UCX_ERROR_SIGNALS= --prtemca plm_ssh_args '-p 22'"
                                + " --prtemca oob_tcp_keepalive_time 2 --prtemca oob_tcp_keepalive_intvl 1"
                                + " --prtemca oob_tcp_keepalive_probes 2"
                                + " -x HVD_FAILURE_DIR -x HVD_LAUNCHER_ADDRESS -x HVD_DECLARED_JOB -x HOROVOD_CYCLE_TIME=2.5 -x PATH env java -jar t.jar");
        assertThat(build(V4, PLAIN, others, args).explained())
                .contains("interfaces that end inside a host are left out, used: here eth0; b ens3")
                .contains("# --cycle-time-ms");
        assertThat(explained(V4, PLAIN, args)).contains("the other hosts have not been asked");
    }

    @Test
    void sixtyFourHostsAreAllCalledFromHere() {
        for (int hosts : new int[] {63, 64}) {
            String list =
                    IntStream.range(0, hosts).mapToObj(i -> "n" + i + ":1").collect(Collectors.joining(","));
            String four = line(V4, PLAIN, "-np", "" + hosts, "-H", list, "true");
            String five = line(V5, PLAIN, "-np", "" + hosts, "-H", list, "true");

            if (hosts < 64) {
                assertThat(four + five).doesNotContain("tree_spawn", "num_concurrent");
            } else {
                assertThat(four).contains("--mca plm_rsh_no_tree_spawn true --mca plm_rsh_num_concurrent 64 ");
                assertThat(five).contains("--prtemca plm_ssh_no_tree_spawn true --prtemca plm_ssh_num_concurrent 64 ");
            }
        }
    }

    @Test
    void tcpOnlyLeavesTheFasterNetworkAlone() {
        MachineFacts machine = withFabric(PLAIN, "mlx5_0 (InfiniBand)");

        assertThat(line(V4, machine, "-np", "2", "--tcp", "true"))
                .contains("--mca pml ob1 --mca btl self,vader ", "-x NCCL_IB_DISABLE=1");
        assertThat(line(V4, machine, "-np", "2", "-H", "here:1,b:1", "--tcp", "true"))
                .contains("--mca pml ob1 --mca btl self,vader,tcp ");
        assertThat(line(V4, machine, "-np", "2", "--tcp", "--mpi-args=--mca pml ucx", "true"))
                .doesNotContain("ob1");
        assertThat(line(SPECTRUM, machine, "-np", "2", "--tcp", "true"))
                .contains(" -tcp ")
                .doesNotContain("ob1");
    }

    @Test
    void bindingWordsOfTheUserTakeThePlaceOfOurs() {
        String[] args = {"-np", "8", "--binding-args=-bind-to core --map-by numa", "true"};

        assertThat(line(V4, PLAIN, args))
                .contains("-np 8 -bind-to core --map-by numa --oversubscribe ")
                .doesNotContain("--bind-to none", "--map-by slot");
        assertThat(explained(V5, PLAIN, args)).contains("the mapping in --binding-args must end in :OVERSUBSCRIBE");
        assertThat(line(V5, PLAIN, "-np", "8", "--binding-args=--bind-to core", "true"))
                .contains("--bind-to core --map-by :OVERSUBSCRIBE ");
        assertThat(line(SPECTRUM, PLAIN, "-np", "2", "true")).contains("--bind-to socket --map-by slot");
    }

    @Test
    void aFlagWinsOverTheEnvironmentAndMpiArgumentsOverBoth() {
        MachineFacts machine = withEnvironment(PLAIN, "HOROVOD_CYCLE_TIME", "9");
        String[] args = {"-np", "1", "-H", "there:1", "--cycle-time-ms", "2", "true"};

        assertThat(line(V4, machine, args)).contains("-x HOROVOD_CYCLE_TIME=2 ").containsOnlyOnce("HOROVOD_CYCLE_TIME");
        assertThat(line(
                        V4,
                        machine,
                        "-np",
                        "1",
                        "-H",
                        "there:1",
                        "--cycle-time-ms",
                        "2",
                        "--mpi-args=-x HOROVOD_CYCLE_TIME=3",
                        "true"))
                .contains("-x HOROVOD_CYCLE_TIME=3 ")
                .doesNotContain("CYCLE_TIME=2");
    }

    @Test
    void namesThatAreKeptBackAreShownAndValuesOfSecretsAreNot() {
        MachineFacts machine =
                withEnvironment(withEnvironment(PLAIN, "HOROVOD_SECRET_KEY", "s3cret"), "OLDPWD", "/before");
        String[] args = {"-np", "1", "-H", "there:1", "--mpi-args=-x MY_API_KEY=s3cret -x A=b", "true"};

        assertThat(explained(V4, machine, args))
                .contains("not forwarded", "HOROVOD_SECRET_KEY OLDPWD", "-x 'MY_API_KEY=***'", "A=b")
                .doesNotContain("s3cret", "/before");
        assertThat(line(V4, machine, args)).contains("MY_API_KEY=s3cret");
    }

    @Test
    void theInterfacesAreHvdsOwnToo() {
        for (String list : List.of("ib0", "eth0,ib0", "eth0:1", "10.0.0.0/8", "ib0,10.0.0.0/8")) {
            assertThat(line(V4, PLAIN, "-np", "1", "-H", "there:1", "--network-interfaces", list, "true"))
                    .contains("-x HOROVOD_GLOO_IFACE=" + list + " ", "btl_tcp_if_include " + list + " ")
                    .doesNotContain("if_exclude");
        }
    }

    @Test
    void ncclGetsNamesAndNoNetworks() {
        assertThat(line(V4, PLAIN, "-np", "1", "-H", "there:1", "--network-interfaces", "eth0,ib0", "true"))
                .contains("-x NCCL_SOCKET_IFNAME=eth0,ib0 ");
        assertThat(explained(V4, PLAIN, "-np", "1", "-H", "there:1", "--network-interfaces", "ib0,fd00::/8", "true"))
                .contains("-x NCCL_SOCKET_IFNAME=ib0 ", "takes no networks");
        assertThat(explained(V4, PLAIN, "-np", "1", "-H", "there:1", "--network-interfaces", "10.0.0.0/8", "true"))
                .contains("NCCL_SOCKET_IFNAME=^br-0123456789ab,docker0,lo,virbr0", "NCCL takes no networks");
        assertThat(line(V4, PLAIN, "-np", "1", "--network-interfaces", "10.0.0.0/8", "true"))
                .doesNotContain("NCCL_SOCKET_IFNAME");
    }

    @Test
    void anInterfaceOfTheFlagWinsOverThatOfTheEnvironmentWhichStaysWhereTheFlagSaysNothingOfIt() {
        MachineFacts machine =
                withEnvironment(withEnvironment(PLAIN, "NCCL_SOCKET_IFNAME", "ib7"), "HOROVOD_GLOO_IFACE", "e7");
        String[] args = {"-np", "1", "-H", "there:1", "--network-interfaces", "eth0", "true"};

        assertThat(line(V4, machine, args))
                .contains("-x NCCL_SOCKET_IFNAME=eth0 ", "-x HOROVOD_GLOO_IFACE=eth0 ")
                .doesNotContain("-x NCCL_SOCKET_IFNAME ", "-x HOROVOD_GLOO_IFACE ");
        args[5] = "10.0.0.0/8";
        assertThat(line(V4, machine, args)).contains("-x NCCL_SOCKET_IFNAME ").doesNotContain("-x NCCL_SOCKET_IFNAME=");
    }

    @ParameterizedTest
    @ValueSource(strings = {"btl_tcp_if_include", "oob_tcp_if_include", "btl_tcp_if_exclude"})
    void interfacesChosenByTheUserAreNotTouched(String parameter) {
        MachineFacts machine = withEnvironment(PLAIN, "OMPI_MCA_" + parameter, "eth1");

        assertThat(line(V4, machine, "-np", "1", "-H", "there:1", "true")).doesNotContain("_if_", "SOCKET_IFNAME");
    }

    /** MPI takes an interface to leave out beside interfaces to use for an error. */
    @ParameterizedTest
    @CsvSource({"btl_tcp_if_include, 'ib0'", "btl_tcp_if_exclude, 'lo,eth7'"})
    void interfacesChosenByAFileOfTheInstallationAreNotTouched(String parameter, String value, @TempDir Path home)
            throws IOException {
        MachineFacts machine = withParameters(home, "# " + parameter + " = eth9\n" + parameter + " = " + value + "\n");
        String[] args = {"-np", "1", "-H", "there:1", "true"};

        assertThat(line(V5, machine, args)).doesNotContain("_if_", "SOCKET_IFNAME");
        assertThat(explained(V5, machine, args))
                .contains("network interfaces: as set by " + home.resolve("etc/openmpi-mca-params.conf"));
    }

    /** As Debian's package of Open MPI 6.0.0rc2. */
    @Test
    void aFileThatCutsTheHostsOffIsOverruled(@TempDir Path home) throws IOException {
        MachineFacts machine = withParameters(home, "btl_tcp_if_include=lo\n");
        String[] args = {"-np", "1", "-H", "there:1", "true"};

        assertThat(line(V5, machine, args))
                .contains(" --mca btl_tcp_if_include eth0 ", " --prtemca prte_if_exclude ")
                .doesNotContain("btl_tcp_if_exclude");
        assertThat(explained(V5, machine, args)).contains("btl_tcp_if_include=lo, which reaches no other host");
        assertThat(line(V5, machine, "-np", "1", "true")).doesNotContain("btl_tcp_if_");
    }

    private static MachineFacts withParameters(Path home, String text) throws IOException {
        Files.writeString(Files.createDirectories(home.resolve("etc")).resolve("openmpi-mca-params.conf"), text);
        return withEnvironment(PLAIN, "HVD_OPENMPI_HOME", home.toString());
    }

    @Test
    void theWholeLineForMpich() {
        assertThat(line(
                        MPICH,
                        PLAIN,
                        "-np",
                        "6",
                        "-H",
                        "here:2,there:4",
                        "--cycle-time-ms=2",
                        "--network-interfaces=eth0,eth1",
                        "--mpi-args=-l",
                        "./a.out"))
                .isEqualTo("mpirun -genv HOROVOD_CYCLE_TIME 2"
                        + " -genvlist HVD_FAILURE_DIR,HVD_LAUNCHER_ADDRESS,HVD_DECLARED_JOB,PATH"
                        + " -genv UCX_ERROR_SIGNALS '' -iface eth0 -genv FI_TCP_IFACE eth0"
                        + " -genv UCX_NET_DEVICES eth0,eth1 -genv HOROVOD_GLOO_IFACE eth0,eth1"
                        + " -genv NCCL_SOCKET_IFNAME eth0,eth1 -np 6"
                        + " -hosts here:2,there:4 -bind-to none -l sh -c SHELL horovodrun-rank ./a.out");
    }

    @Test
    void theWholeLineForIntelMpi() {
        assertThat(line(INTEL, PLAIN, "-np", "4", "-H", "here:2,there:2", "--tcp", "./a.out"))
                .isEqualTo("mpirun -genv NCCL_IB_DISABLE 1"
                        + " -genvlist HVD_FAILURE_DIR,HVD_LAUNCHER_ADDRESS,HVD_DECLARED_JOB,PATH"
                        + " -genv FI_PROVIDER tcp -genv UCX_TLS tcp,sm,self -genv UCX_ERROR_SIGNALS ''"
                        + " -genv NCCL_SOCKET_IFNAME ^br-0123456789ab,docker0,lo,virbr0 -np 4"
                        + " -hosts here,there -ppn 2 -genv I_MPI_PIN off sh -c SHELL horovodrun-rank ./a.out");
        assertThatThrownBy(() -> line(INTEL, PLAIN, "-np", "4", "-H", "here:2,there:3", "./a.out"))
                .hasMessageContainingAll("uneven-slots", "here:2,there:3");
        assertThat(explained(INTEL, PLAIN, "-np", "1", "-H", "there:1", "-p", "7", "./a.out"))
                .contains("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=\"-p 7\"");
    }

    @Test
    void noArgumentStandsWithoutAReasonAndNoParameterTwice() {
        for (MpiVersion version : List.of(V4, V5)) {
            for (MachineFacts machine : List.of(PLAIN, root(container(PLAIN)), withFabric(PLAIN, "efa_0 (EFA)"))) {
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

    private static String line(MpiVersion version, MachineFacts machine, String... args) {
        return ShellWords.join(build(version, machine, args).words().stream()
                .map(word -> word.startsWith("trap : TERM") ? "SHELL" : word)
                .toList());
    }

    private static String explained(MpiVersion version, MachineFacts machine, String... args) {
        return build(version, machine, args).explained();
    }

    private static MpirunLine build(MpiVersion version, MachineFacts machine, String... args) {
        return build(version, machine, Map.of(), args);
    }

    private static MpirunLine build(
            MpiVersion version, MachineFacts machine, Map<String, Set<String>> others, String... args) {
        LaunchSettings settings = LaunchOptions.parse(machine.environment(), args);
        return MpirunLine.of(
                "mpirun",
                new LaunchFacts(settings, machine, version).with(others),
                Argument.note(""),
                Optional.empty());
    }

    private static MachineFacts root(MachineFacts m) {
        return with(m, 0, m.container(), m.fabric(), m.environment());
    }

    private static MachineFacts container(MachineFacts m) {
        return with(m, m.uid(), true, m.fabric(), m.environment());
    }

    private static MachineFacts withFabric(MachineFacts m, String fabric) {
        return with(m, m.uid(), m.container(), Optional.of(fabric), m.environment());
    }

    private static MachineFacts withEnvironment(MachineFacts m, String name, String value) {
        var environment = new TreeMap<>(m.environment());
        environment.put(name, value);
        return with(m, m.uid(), m.container(), m.fabric(), environment);
    }

    private static MachineFacts withSharedMemory(MachineFacts m, long bytes) {
        return new MachineFacts(
                m.hostname(),
                m.cores(),
                m.uid(),
                m.container(),
                m.fabric(),
                OptionalLong.of(bytes),
                m.names(),
                m.interfaces(),
                m.environment());
    }

    private static MachineFacts with(
            MachineFacts m, int uid, boolean container, Optional<String> fabric, Map<String, String> environment) {
        return new MachineFacts(
                m.hostname(),
                m.cores(),
                uid,
                container,
                fabric,
                m.sharedMemoryBytes(),
                m.names(),
                m.interfaces(),
                environment);
    }
}
