package io.hvd.launch.hosts;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.words.UsageException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** With a script in the place of ssh, which writes down whom it was to reach. */
@Timeout(60)
final class OtherHostsTest {

    private static final Map<String, Set<String>> FOUND = Map.of("b", Set.of("eth0"));

    @TempDir
    private Path folder;

    @BeforeEach
    void plantSsh() throws IOException {
        Path ssh = Files.writeString(folder.resolve("ssh"), "#!/bin/sh\necho asked >>" + folder + "/log\necho eth0\n");
        Files.setPosixFilePermissions(ssh, PosixFilePermissions.fromString("rwx------"));
    }

    @Test
    void whoWasReachedIsAskedAgainOnlyWithoutTheCache() throws Exception {
        assertThat(hosts().known()).isEmpty();
        assertThat(hosts().checked(System.err)).isEqualTo(FOUND);
        assertThat(hosts().checked(System.err)).isEqualTo(FOUND);
        assertThat(hosts().known()).isEqualTo(FOUND);
        assertThat(folder.resolve("log")).hasContent("asked");

        assertThat(hosts("--disable-cache").known()).isEmpty();
        assertThat(hosts("--disable-cache").checked(System.err)).isEqualTo(FOUND);
        assertThat(folder.resolve("log")).hasContent("asked\nasked");
    }

    /** Open MPI 4.1 crashes in such a job. */
    @Test
    void twoHostsThatCallThemselvesTheSameAreRefusedAlsoWhenTheyAreKnownFromTheCache() throws Exception {
        plantSsh("echo eth0; case $* in *' c '*) echo hvd-host-name: other;; *) echo hvd-host-name: node;; esac");

        for (int time = 0; time < 2; time++) {
            assertThatThrownBy(() -> hostsOf("b:1,c:1,d:3").checked(System.err))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContainingAll(
                            "same-hostname", "b and d both call themselves node", "-H b:4", "hostname");
        }
        assertThat(hostsOf("b:1,c:1").checked(System.err)).hasSize(2);
    }

    @Test
    void aHostThatIsCalledAsThisMachineIsRefusedBesideItsNamesAndTheyAmongThemselvesAreNot() throws Exception {
        plantSsh("echo eth0; echo hvd-host-name: a");

        assertThatThrownBy(() -> hostsOf("a:1,b:1").checked(System.err))
                .hasMessageContainingAll("b and a both call themselves a");
        assertThat(hostsOf("a:1,localhost:1").checked(System.err)).isEmpty();
        assertThat(hostsOf("b:1").checked(System.err)).hasSize(1);
    }

    @Test
    void hostsThatAreNotReachedNowAreLeftOutWhateverWasFoundBefore() throws Exception {
        plantSsh("echo eth0; echo hvd-host-name: $RANDOM$$");
        assertThat(hostsOf("a:1,b:2,c:3").checked(System.err)).hasSize(2);
        plantSsh("case \"$*\" in *\" b \"*) echo 'b: Permission denied' >&2; exit 255;; esac; echo eth0");
        var said = new ByteArrayOutputStream();

        List<HostSlots> left = hostsOf("a:1,b:2,c:3").reached(new PrintStream(said, true, UTF_8));

        assertThat(left).isEqualTo(HostSlots.parse("a:1,c:3"));
        assertThat(said.toString(UTF_8)).contains("horovodrun: b is left out", "Permission denied");
        assertThat(hostsOf("a:1").reached(System.err)).isEqualTo(HostSlots.parse("a:1"));
    }

    private void plantSsh(String script) throws IOException {
        Files.writeString(folder.resolve("ssh"), "#!/bin/sh\n" + script + "\n");
    }

    private OtherHosts hosts(String... flags) {
        return hostsOf("a:1,b:1", flags);
    }

    private OtherHosts hostsOf(String list, String... flags) {
        Map<String, String> environment = Map.of("PATH", folder.toString(), "HOME", folder.toString());
        var machine = new MachineFacts(
                "a",
                4,
                1000,
                false,
                Optional.empty(),
                OptionalLong.of(1L << 30),
                Set.of("a", "localhost"),
                Set.of("eth0"),
                environment);
        String[] words = new String[flags.length + 5];
        System.arraycopy(new String[] {"-np", "1", "-H", list}, 0, words, 0, 4);
        System.arraycopy(flags, 0, words, 4, flags.length);
        words[words.length - 1] = "true";
        LaunchSettings settings = LaunchOptions.parse(environment, words);
        return new OtherHosts(settings.hosts(), settings.ssh(), settings.checks(), machine);
    }
}
