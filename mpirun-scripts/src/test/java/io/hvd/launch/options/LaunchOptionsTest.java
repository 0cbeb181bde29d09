package io.hvd.launch.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.hvd.config.LauncherSettings.ArchiveChoice;
import io.hvd.launch.hosts.HostChecks;
import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.hosts.SshAccess;
import io.hvd.launch.mpi.Starter;
import io.hvd.launch.options.LaunchSettings.Action;
import io.hvd.launch.words.UsageException;
import io.hvd.net.Encryption;
import io.hvd.net.PortRange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class LaunchOptionsTest {

    @Test
    void parsingStopsAtTheFirstWordThatIsNoFlag() {
        var settings = parse("-np", "4", "--verbose", "java", "-jar", "train.jar", "-np", "9", "--help");

        assertThat(settings.ranks()).isEqualTo(4);
        assertThat(settings.verbose()).isTrue();
        assertThat(settings.action()).isEqualTo(Action.RUN);
        assertThat(settings.command()).containsExactly("java", "-jar", "train.jar", "-np", "9", "--help");
    }

    @Test
    void everyFlagReachesTheSettings() {
        var settings = parse(
                "--num-proc=3",
                "--hosts",
                "a:2,b:4",
                "--ssh-port",
                "2222",
                "-i",
                "/keys/id",
                "--network-interfaces",
                "eth0,eth1",
                "--output-filename",
                "/out",
                "--tcp",
                "--disable-cache",
                "--start-timeout",
                "20",
                "-prefix-timestamp",
                "--binding-args",
                "--bind-to core",
                "--mpi-args=--mca btl 'self,tcp' -x \"A=b c\"",
                "--dry-run",
                "true");

        assertThat(settings)
                .isEqualTo(new LaunchSettings(
                        Action.DRY_RUN,
                        Starter.EITHER,
                        3,
                        Optional.empty(),
                        Optional.empty(),
                        List.of(new HostSlots("a", 2), new HostSlots("b", 4)),
                        new SshAccess(Optional.of(2222), Optional.of("/keys/id")),
                        new HostChecks(20, false),
                        new LaunchSettings.Network(
                                Optional.of("eth0,eth1"), "eth0,eth1", true, PortRange.ANY, Encryption.NONE),
                        new LaunchSettings.Output(Optional.of("/out"), true),
                        new LaunchSettings.Words(
                                Optional.of(List.of("--bind-to", "core")),
                                List.of("--mca", "btl", "self,tcp", "-x", "A=b c")),
                        new LaunchSettings.Java(ArchiveChoice.AUTO, true),
                        List.of(
                                new Assignment("NCCL_IB_DISABLE", "1", "--tcp"),
                                new Assignment("HOROVOD_START_TIMEOUT", "20", "--start-timeout")),
                        List.of(),
                        false,
                        List.of("true")));
    }

    @Test
    void glooOrMpiIsAskedForByFlagOrVariable() {
        String[] job = {"-np", "2", "true"};
        for (String name : List.of("HOROVOD_CONTROLLER", "HOROVOD_CPU_OPERATIONS")) {
            assertThat(LaunchOptions.parse(Map.of(name, "GLOO"), job).starter()).isEqualTo(Starter.HOROVODRUN);
            assertThat(LaunchOptions.parse(Map.of(name, "mpi"), job).starter()).isEqualTo(Starter.MPIRUN);
        }
        assertThat(LaunchOptions.parse(Map.of("HVD_BACKEND", "mpi"), job).starter())
                .isEqualTo(Starter.MPIRUN);
        assertThat(LaunchOptions.parse(Map.of("HVD_BACKEND", "tcp"), job).starter())
                .isEqualTo(Starter.EITHER);
        assertThat(parse("--gloo", "-np", "2", "true").starter()).isEqualTo(Starter.HOROVODRUN);
        refused("--gloo", "--mpi", "-np", "2", "true").hasMessageContainingAll("--gloo", "--mpi", "one of them");
        assertThat(LaunchOptions.parse(Map.of("HOROVOD_CONTROLLER", "gloo"), "--mpi", "-np", "2", "true")
                        .assignments())
                .as("the ranks obey the flag too")
                .extracting(Assignment::variable, Assignment::value)
                .containsExactly(tuple("HOROVOD_CONTROLLER", "mpi"));
        assertThat(LaunchOptions.parse(Map.of("HOROVOD_CONTROLLER", "gloo"), "--mpi", "-np", "2", "true")
                        .starter())
                .isEqualTo(Starter.MPIRUN);
    }

    @Test
    void ofTwoLimitsOfTheStartTheOneThatCountsIsNamed() {
        LaunchSettings flags = parse("--gloo-timeout-seconds", "60", "--start-timeout", "20", "-np", "2", "true");
        assertThat(flags.checks().limitSeconds()).isEqualTo(20);
        assertThat(flags.notes())
                .containsExactly("--start-timeout 20 wins over --gloo-timeout-seconds 60: both limit the start");

        LaunchSettings variable = LaunchOptions.parse(
                Map.of("HOROVOD_START_TIMEOUT", "40"), "--gloo-timeout-seconds", "60", "-np", "2", "true");
        assertThat(variable.checks().limitSeconds()).isEqualTo(40);
        assertThat(variable.notes())
                .containsExactly("HOROVOD_START_TIMEOUT 40 wins over --gloo-timeout-seconds 60: both limit the start");

        assertThat(LaunchOptions.parse(
                                Map.of("HOROVOD_GLOO_TIMEOUT_SECONDS", "20"),
                                "--start-timeout",
                                "20",
                                "-np",
                                "2",
                                "true")
                        .notes())
                .as("there is nothing to choose")
                .isEmpty();
    }

    @Test
    void theLaunchersSocketsListenWhereThoseOfTheRanksDo() {
        Map<String, String> environment = Map.of("HOROVOD_GLOO_IFACE", "eth2");
        String[] job = {"-np", "2", "true"};

        assertThat(LaunchOptions.parse(environment, job).network().ofLauncher()).isEqualTo("eth2");
        assertThat(LaunchOptions.parse(environment, "--network-interfaces", "eth0", "-np", "2", "true")
                        .network()
                        .ofLauncher())
                .isEqualTo("eth0");
        assertThat(parse(job).network().ofLauncher()).isEmpty();
    }

    @Test
    void mpiArgumentsMayFollowAsAWordOfTheirOwn() {
        assertThat(parse("-np", "1", "--mpi-args", "--mca btl self", "true")
                        .words()
                        .more())
                .containsExactly("--mca", "btl", "self");
    }

    @Test
    void theLastOfTwoValuesWins() {
        assertThat(parse("-np", "2", "-np", "3", "true").ranks()).isEqualTo(3);
    }

    @ParameterizedTest
    @CsvSource({
        "-v,VERSION",
        "--version,VERSION",
        "-cb,CHECK_BUILD",
        "--check-build,CHECK_BUILD",
        "-h,HELP",
        "--help,HELP"
    })
    void whatOnlyPrintsNeedsNeitherRanksNorCommand(String flag, Action action) {
        assertThat(parse(flag).action()).isEqualTo(action);
    }

    @Test
    void moreRanksThanSlotsNamesBoth() {
        refused("-np", "5", "-H", "a:2,b:2", "true").hasMessageContainingAll("np-exceeds-slots", "5", "4", "a:2,b:2");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "a:", ":2", "a:x", "a:0", "a:-1", "a:2,", "a:2,b", "a b:2", "a:2:3"})
    void aMalformedHostIsShownWithTheExpectedForm(String hosts) {
        String[] tokens = hosts.split(",", -1);

        refused("-np", "1", "-H", hosts, "true")
                .hasMessageContainingAll("host-format", "\"" + tokens[tokens.length - 1] + "\"", "host:slots");
    }

    @Test
    void aHostNamedTwiceHasTheSumOfItsSlots() {
        assertThat(parse("-np", "5", "-H", "a:2,b:1,a:2", "true").hosts())
                .containsExactly(new HostSlots("a", 4), new HostSlots("b", 1));
    }

    @Test
    void hostsAndHostfileExcludeEachOther(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("hosts"), "a slots=2\n");

        refused("-np", "1", "-H", "a:1", "--hostfile", file.toString(), "true")
                .hasMessageContainingAll("hosts-twice", "-H a:1", file.toString(), "mutually exclusive");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-hostfile", "--hostfile"})
    void aHostfileHasOneHostPerLine(String flag, @TempDir Path folder) throws IOException {
        Path file = Files.writeString(
                folder.resolve("hosts"), "# cluster\n\n a slots=2 # first\nb   slots = 1 max_slots=4\na slots=1\n");

        assertThat(parse("-np", "4", flag, file.toString(), "true").hosts())
                .containsExactly(new HostSlots("a", 3), new HostSlots("b", 1));
        refused("-np", "5", flag, file.toString(), "true").hasMessageContainingAll("5", "4 slots", file.toString());
    }

    @Test
    void aMalformedHostfileNamesTheLine(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("hosts"), "a slots=2\nb:2\n");

        refused("-np", "1", "--hostfile", file.toString(), "true")
                .hasMessageContainingAll("hostfile-format", file + " line 2", "\"b:2\"", "host slots=N");
    }

    @Test
    void anEmptyOrMissingHostfileIsRefused(@TempDir Path folder) throws IOException {
        Path empty = Files.writeString(folder.resolve("empty"), "# nothing\n");

        refused("-np", "1", "--hostfile", empty.toString(), "true").hasMessageContainingAll("hostfile-empty", "empty");
        refused("-np", "1", "--hostfile", folder.resolve("none").toString(), "true")
                .hasMessageContainingAll("hostfile-unreadable", "none");
    }

    @Test
    void slotsOfManyHostsAreMoreThanAnIntHolds() {
        String hosts = java.util.stream.IntStream.range(0, 3000)
                .mapToObj(host -> "n" + host + ":999999")
                .collect(java.util.stream.Collectors.joining(","));

        assertThat(parse("-np", "8", "-H", hosts, "true").ranks()).isEqualTo(8);
        assertThat(parse("-np", "8", "-H", hosts.replaceAll("n\\d+", "n"), "true")
                        .ranks())
                .isEqualTo(8);
    }

    @Test
    void theNumberOfRanksIsRequired() {
        refused("java").hasMessageContainingAll("np-missing", "-np");
        refused("-np").hasMessageContainingAll("flag-without-value", "-np");
    }

    @ParameterizedTest
    @CsvSource({
        "four,not-a-number",
        "\u0664,not-a-number",
        "4.5,not-a-number",
        "0,out-of-range",
        "-2,out-of-range",
        "99999999999,not-a-number"
    })
    void theNumberOfRanksIsAWholeNumberOfAtLeastOne(String value, String id) {
        refused("-np", value, "true").hasMessageContainingAll(id, "-np " + value);
    }

    @Test
    void anSshPortIsAPort() {
        refused("-np", "1", "-p", "70000", "true").hasMessageContainingAll("out-of-range", "-p 70000", "65535");
    }

    @Test
    void aCommandIsRequired() {
        refused("-np", "2").hasMessageContainingAll("command-missing", "command");
    }

    @ParameterizedTest
    @CsvSource({
        "--verbos,--verbose",
        "--hostflie,--hostfile",
        "--np,-np",
        "-n,-np",
        "--fusion-threshold,--fusion-threshold-mb"
    })
    void anUnknownFlagGetsASuggestion(String flag, String meant) {
        refused("-np", "2", flag, "true").hasMessageContainingAll("unknown-flag", flag, "did you mean " + meant + "?");
    }

    @ParameterizedTest
    @CsvSource({
        "--nproc-per-node=4, -np",
        "--nproc_per_node, -np",
        "--nnodes=2, -H a:4",
        "--node-rank, -H a:4",
        "--node_rank=0, -H a:4",
        "--master-addr, leave the flag out",
        "--rdzv-endpoint=a:29500, leave the flag out",
        "--standalone, leave the flag out"
    })
    void aFlagOfTorchrunsGetsTheWayThatTakesItsPlace(String flag, String way) {
        refused(flag, "4", "true").hasMessageContainingAll(flag.replaceFirst("=.*", "") + " is torchrun's", way);
    }

    @Test
    void aFlagOfMpirunIsSentToMpiArguments() {
        refused("-np", "2", "-x", "A", "true").hasMessageContainingAll("unknown-flag", "-x", "--mpi-args");
    }

    @ParameterizedTest
    @CsvSource({"--jsrun,horovodrun starts the ranks by mpirun or ssh"})
    void whatHvdCannotDoIsRefusedWithTheReason(String flag, String reason) {
        refused("-np", "2", flag, "2", "true").hasMessageContainingAll("flag-refused", flag, reason);
        refused("-np", "2", flag + "=2", "true").hasMessageContainingAll("flag-refused", flag, reason);
        refused("-np", "2", flag, "java", "-jar", "train.jar").hasMessageContainingAll("flag-refused", flag, reason);
    }

    @ParameterizedTest
    @CsvSource({
        "--hierarchical-allgather,",
        "--num-nccl-streams,2",
        "--autotune-gaussian-process-noise,0.5",
        "--thread-affinity,'0,2'"
    })
    void whatHasNoEffectIsAcceptedWithANote(String flag, String value) {
        var settings = value == null ? parse("-np", "2", flag, "true") : parse("-np", "2", flag, value, "true");

        assertThat(settings.notes()).singleElement().asString().startsWith(flag + " is accepted and has no effect: ");
        assertThat(settings.assignments()).isEmpty();
        assertThat(settings.command()).containsExactly("true");
    }

    @Test
    void whatIsTheCaseAnywayNeedsNoNote() {
        assertThat(parse("-np", "2", "--no-hierarchical-allgather", "true")).isEqualTo(parse("-np", "2", "true"));
    }

    @Test
    void anInterfaceMayBeNamedOneAtATime() {
        var settings = parse("-np", "2", "--network-interface", "eth0", "--network-interface", "ib0", "true");

        assertThat(settings.network().interfaces()).contains("eth0,ib0");
        assertThat(settings.notes()).isEmpty();
        assertThat(parse("-np", "2", "--network-interface", "eth0,ib0", "true").notes())
                .singleElement()
                .asString()
                .contains("--network-interfaces");
        refused("-np", "2", "--network-interfaces", "eth0,", "true").hasMessageContaining("interface-format");
    }

    @Test
    void insideAnLsfJobItsSlotsAreTheRanks() {
        Map<String, String> lsf = Map.of("LSB_DJOB_NUMPROC", "6");

        assertThat(LaunchOptions.parse(lsf, "true").ranks()).isEqualTo(6);
        assertThat(LaunchOptions.parse(lsf, "-np", "2", "true").ranks()).isEqualTo(2);
    }

    @Test
    void insideASlurmJobItsTasksAreTheRanksAndNoMoreFit() {
        Map<String, String> slurm =
                Map.of("SLURM_JOB_ID", "7", "SLURM_JOB_NODELIST", "n[1-2]", "SLURM_TASKS_PER_NODE", "3(x2)");

        assertThat(LaunchOptions.parse(slurm, "true").ranks()).isEqualTo(6);
        assertThat(LaunchOptions.parse(slurm, "-np", "2", "true").ranks()).isEqualTo(2);
        assertThatThrownBy(() -> LaunchOptions.parse(slurm, "-np", "7", "true"))
                .hasMessageContainingAll(
                        "np-exceeds-slots", "Slurm job 7 (n1:3,n2:3) has 6 slots", "#SBATCH --ntasks-per-node");
        assertThat(LaunchOptions.parse(slurm, "-np", "7", "--mpi-args=--oversubscribe", "true")
                        .ranks())
                .isEqualTo(7);
        assertThatThrownBy(() -> LaunchOptions.parse(slurm, "-H", "n1:3", "true"))
                .hasMessageContaining("np-missing");
    }

    /** As a real Slurm sets them for -N2 -n3 --ntasks-per-node=2, where srun starts three; and for -N2 alone. */
    @Test
    void insideASlurmJobThereAreAsManyRanksAsSrunWouldStart() {
        Map<String, String> slurm = new HashMap<>(
                Map.of("SLURM_JOB_ID", "7", "SLURM_JOB_NODELIST", "n[1-2]", "SLURM_TASKS_PER_NODE", "2(x2)"));
        assertThat(LaunchOptions.parse(slurm, "true").ranks()).isEqualTo(4);

        slurm.put("SLURM_NTASKS", "3");

        assertThat(LaunchOptions.parse(slurm, "true").ranks()).isEqualTo(3);
        assertThat(LaunchOptions.parse(slurm, "-np", "4", "true").ranks()).isEqualTo(4);
        for (String nothing : List.of("", "0", "many")) {
            slurm.put("SLURM_NTASKS", nothing);
            assertThat(LaunchOptions.parse(slurm, "true").ranks()).as(nothing).isEqualTo(4);
        }
    }

    @Test
    void theLimitOfTheStartComesFromTheEnvironmentUnlessAFlagSaysSo() {
        Map<String, String> patient = Map.of("HOROVOD_START_TIMEOUT", "300");

        assertThat(parse("-np", "1", "true").checks().limitSeconds()).isEqualTo(30);
        assertThat(LaunchOptions.parse(patient, "-np", "1", "true").checks().limitSeconds())
                .isEqualTo(300);
        assertThat(LaunchOptions.parse(patient, "-np", "1", "--gloo-timeout-seconds", "7", "true")
                        .checks()
                        .limitSeconds())
                .as("the timeout of Gloo counts only where no start timeout is set, as in the ranks")
                .isEqualTo(LaunchOptions.parse(patient, "-np", "1", "true")
                        .checks()
                        .limitSeconds());
        assertThat(parse("-np", "1", "--gloo-timeout-seconds", "7", "true")
                        .checks()
                        .limitSeconds())
                .isEqualTo(7);
        assertThat(LaunchOptions.parse(patient, "-np", "1", "--start-timeout", "5", "true")
                        .checks()
                        .limitSeconds())
                .isEqualTo(5);
    }

    @Test
    void aKeyWithABlankInItsNameIsRefusedSinceMpirunWouldTakeItApart() {
        refused("-np", "1", "-i", "/my keys/id", "true").hasMessageContainingAll("identity-with-blank", "/my keys/id");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-oProxyCommand:2", "$(reboot):2", "a;b:2", "`id`:1"})
    void aHostThatIsMoreThanANameIsRefused(String host) {
        refused("-np", "1", "-H", host, "true").hasMessageContainingAll("host-format", host);
    }

    @Test
    void anOpenQuoteInMpiArgumentsIsRefused() {
        refused("-np", "2", "--mpi-args=-x 'A", "true").hasMessageContainingAll("open-quote", "'", "-x 'A");
    }

    @Test
    void theHelpNamesEveryFlagAndEveryKey() {
        for (Flag flag : Flag.values()) {
            assertThat(HelpText.text()).contains("  " + flag.spelling() + " ");
        }
        assertThat(HelpText.text()).contains("timeline (filename, mark_cycles)", "exit code", "-np, --num-proc N  ");
    }

    private static LaunchSettings parse(String... args) {
        return LaunchOptions.parse(Map.of(), args);
    }

    private static AbstractThrowableAssert<?, ?> refused(String... args) {
        return assertThatThrownBy(() -> parse(args)).isInstanceOf(UsageException.class);
    }
}
