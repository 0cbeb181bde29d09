package io.hvd.launch.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.mpi.Starter;
import io.hvd.launch.words.UsageException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ElasticFlagsTest {

    @TempDir
    private Path folder;

    private static LaunchSettings parse(String words) {
        return LaunchOptions.parse(Map.of(), (words + " true").split(" "));
    }

    @Test
    void oneOfThreeFlagsMakesAJobElasticAndItIsStartedWithoutMpi() {
        ElasticSettings least = parse("-np 4 --min-np 2").elastic().orElseThrow();
        ElasticSettings most = parse("-np 4 --max-num-proc 8").elastic().orElseThrow();

        assertThat(least)
                .isEqualTo(new ElasticSettings(
                        2, 4, 600, Integer.MAX_VALUE, Optional.empty(), Optional.empty(), OptionalInt.empty()));
        assertThat(most.atLeast()).isEqualTo(4);
        assertThat(most.atMost()).isEqualTo(8);
        assertThat(parse("-np 4 --min-np 2").starter()).isEqualTo(Starter.HOROVODRUN);
        assertThat(parse("-np 4").elastic()).isEmpty();
    }

    @Test
    void theOtherFlagsSayHowLongAndHowOften() {
        String[] words = {
            "-np", "4", "--min-num-proc", "2", "--elastic-timeout", "30", "--reset-limit", "3",
            "--blacklist-cooldown-range", "10", "60", "--max-np", "9", "--max-num-proc", "8", "true"
        };

        ElasticSettings all = LaunchOptions.parse(Map.of(), words).elastic().orElseThrow();

        assertThat(all.atMost()).as("the last one counts").isEqualTo(8);
        assertThat(all.timeoutSeconds()).isEqualTo(30);
        assertThat(all.resets()).isEqualTo(3);
        assertThat(all.cooldown()).contains(new ElasticSettings.Cooldown(10, 60));
        assertThat(parse("--min-num-proc 2").ranks()).as("-np may be left out").isEqualTo(2);
    }

    @Test
    void aJobThatIsStartedAgainIsNotElasticAndMayBeMpirunsAndItsSizesAreThoseOfItsStarts() {
        LaunchSettings job = parse("--mpi --max-restarts 3 -np 4 --min-np 2 --max-np 6 -H a:2,b:2,c:2");
        RestartSettings restarts = job.restarts().orElseThrow();

        assertThat(job.elastic()).isEmpty();
        assertThat(job.starter()).isEqualTo(Starter.MPIRUN);
        assertThat(job.ranks()).isEqualTo(4);
        assertThat(restarts).isEqualTo(new RestartSettings(3, 2, 6, Optional.empty()));
        assertThat(restarts.ranks(HostSlots.parse("a:2,b:2,c:4"))).isEqualTo(6);
        assertThat(restarts.ranks(HostSlots.parse("a:2,b:1"))).isEqualTo(3);
        assertThatThrownBy(() -> restarts.ranks(HostSlots.parse("b:1")))
                .hasMessageContainingAll("b:1", "1 slots", "at least 2 ranks (--min-np)");
        assertThat(parse("--restarts 1 -np 4").restarts())
                .as("as many ranks as at first")
                .contains(new RestartSettings(1, 4, 4, Optional.empty()));
        assertThat(parse("-np 4").restarts()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "--mpi -np 2 --min-np 1, elastic-mpi",
        "-np 2 --min-np 3, elastic-sizes",
        "-np 4 --max-np 3, elastic-sizes",
        "-np 2 --reset-limit 3, not-elastic",
        "-np 2 --slots-per-host 3, not-elastic",
        "-np 2 --min-np 1 --restarts 1 --reset-limit 3, not-elastic",
        "-np 2 --min-np 3 --restarts 1, elastic-sizes",
        "-np 2 --restarts -1, out-of-range",
        "-np 2 --min-np 1 --blacklist-cooldown-range 10 5, cooldown-range",
        "-np 2 --min-np 1 --blacklist-cooldown-range 0 5, cooldown-range",
        "-np 4 --min-np 3 -H a:2, np-exceeds-slots",
        "--max-np 3, np-missing",
        "-np 2 --min-np x, not-a-number"
    })
    void whatDoesNotFitIsRefused(String words, String id) {
        assertThatThrownBy(() -> parse(words))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(id);
    }

    @Test
    void aCoordinatorIsToldHowManyRanksOthersStartAndNothingThatItWouldStart() {
        LaunchSettings job = LaunchOptions.parse(
                Map.of(), "--elastic-coordinator", "29400", "--min-np", "2", "--max-np", "4", "--reset-limit", "3");

        assertThat(job.action()).isEqualTo(LaunchSettings.Action.COORDINATE);
        assertThat(job.ranks()).isEqualTo(2);
        assertThat(job.elastic().orElseThrow())
                .isEqualTo(
                        new ElasticSettings(2, 4, 600, 3, Optional.empty(), Optional.empty(), OptionalInt.of(29_400)));
    }

    @ParameterizedTest
    @CsvSource({
        "java -jar train.jar, java is for ranks",
        "-H a:2, -H",
        "--restarts 1, --restarts",
        "--dry-run, --dry-run",
        "--fusion-threshold-mb 8, --fusion-threshold-mb"
    })
    void aCoordinatorStartsNothing(String words, String named) {
        assertThatThrownBy(() ->
                        LaunchOptions.parse(Map.of(), ("--elastic-coordinator 29400 --min-np 2 " + words).split(" ")))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll("coordinator-starts-nothing", named, "others start them");
    }

    @Test
    void itsPortIsAPort() {
        assertThatThrownBy(() -> LaunchOptions.parse(Map.of(), "--elastic-coordinator", "65536", "--min-np", "2"))
                .hasMessageContaining("out-of-range");
    }

    @Test
    void theHostsAreThoseThatTheScriptPrints() throws Exception {
        Path script = script("echo a:2; echo b; echo '[fd00::1]:3'");

        LaunchSettings settings = LaunchOptions.parse(
                Map.of(),
                "-np",
                "8",
                "--min-np",
                "3",
                "--slots-per-host",
                "4",
                "--host-discovery-script",
                script.toString(),
                "true");

        assertThat(settings.hosts())
                .containsExactly(new HostSlots("a", 2), new HostSlots("b", 4), new HostSlots("fd00::1", 3));
        assertThat(settings.ranks()).isEqualTo(8);
        assertThat(settings.elastic().orElseThrow().discovery().orElseThrow().look())
                .hasSize(3);
        assertThat(parse("-np 20 --min-np 3 --host-discovery-script " + script).ranks())
                .as("as many as there are slots")
                .isEqualTo(6);
    }

    @ParameterizedTest
    @CsvSource({"exit 3, exit code 3", "echo a b, host:slots", "echo a:0, host:slots", "true, no host"})
    void aScriptThatFailsBeforeTheJobBeginsEndsIt(String text, String word) throws Exception {
        Path script = script(text);

        assertThatThrownBy(() -> parse("-np 2 --min-np 1 --host-discovery-script " + script))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(word);
    }

    private Path script(String text) throws Exception {
        Path script = Files.writeString(folder.resolve("hosts"), "#!/bin/sh\n" + text + "\n");
        return Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
    }
}
