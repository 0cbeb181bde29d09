package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.launch.LaunchSettings.Action;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
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
        var settings = LaunchOptions.parse("-np", "4", "--verbose", "java", "-jar", "train.jar", "-np", "9", "--help");

        assertThat(settings.ranks()).isEqualTo(4);
        assertThat(settings.verbose()).isTrue();
        assertThat(settings.action()).isEqualTo(Action.RUN);
        assertThat(settings.command()).containsExactly("java", "-jar", "train.jar", "-np", "9", "--help");
    }

    @Test
    void everyFlagReachesTheSettings() {
        var settings = LaunchOptions.parse(
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
                "--mpi-args=--mca btl 'self,tcp' -x \"A=b c\"",
                "--dry-run",
                "true");

        assertThat(settings)
                .isEqualTo(new LaunchSettings(
                        Action.DRY_RUN,
                        3,
                        List.of(new HostSlots("a", 2), new HostSlots("b", 4)),
                        Optional.of(2222),
                        Optional.of("/keys/id"),
                        Optional.of("eth0,eth1"),
                        Optional.of("/out"),
                        List.of("--mca", "btl", "self,tcp", "-x", "A=b c"),
                        false,
                        List.of("true")));
    }

    @Test
    void mpiArgumentsMayFollowAsAWordOfTheirOwn() {
        assertThat(LaunchOptions.parse("-np", "1", "--mpi-args", "--mca btl self", "true")
                        .mpiArguments())
                .containsExactly("--mca", "btl", "self");
    }

    @Test
    void theLastOfTwoValuesWins() {
        assertThat(LaunchOptions.parse("-np", "2", "-np", "3", "true").ranks()).isEqualTo(3);
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
        assertThat(LaunchOptions.parse(flag).action()).isEqualTo(action);
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
        assertThat(LaunchOptions.parse("-np", "5", "-H", "a:2,b:1,a:2", "true").hosts())
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

        assertThat(LaunchOptions.parse("-np", "4", flag, file.toString(), "true")
                        .hosts())
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
    void theNumberOfRanksIsRequired() {
        refused("java").hasMessageContainingAll("np-missing", "-np");
        refused("-np").hasMessageContainingAll("flag-without-value", "-np");
    }

    @ParameterizedTest
    @CsvSource({"four,not-a-number", "4.5,not-a-number", "0,out-of-range", "-2,out-of-range", "99999999999,not-a-number"
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

    @Test
    void aFlagOfMpirunIsSentToMpiArguments() {
        refused("-np", "2", "-x", "A", "true").hasMessageContainingAll("unknown-flag", "-x", "--mpi-args");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--autotune", "--cycle-time-ms=1", "--gloo", "--min-np", "-prefix-timestamp"})
    void aFlagOfHorovodThatIsNotThereYetSaysSo(String flag) {
        refused("-np", "2", flag, "true").hasMessageContainingAll("flag-not-there-yet", flag.replaceFirst("=.*", ""));
    }

    @Test
    void anOpenQuoteInMpiArgumentsIsRefused() {
        refused("-np", "2", "--mpi-args=-x 'A", "true").hasMessageContainingAll("open-quote", "'", "-x 'A");
    }

    @Test
    void theHelpNamesEveryFlag() {
        assertThat(LaunchOptions.help())
                .contains("-np, --num-proc N", "-H, --hosts", "--hostfile", "--mpi-args", "--dry-run", "--check-build");
    }

    private static AbstractThrowableAssert<?, ?> refused(String... args) {
        return assertThatThrownBy(() -> LaunchOptions.parse(args)).isInstanceOf(UsageException.class);
    }
}
