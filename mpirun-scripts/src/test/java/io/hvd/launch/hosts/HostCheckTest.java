package io.hvd.launch.hosts;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.launch.NamespaceHostsIT;
import io.hvd.launch.words.UsageException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** With a script in the place of ssh; {@link NamespaceHostsIT} has the real one. */
@Timeout(60)
final class HostCheckTest {

    private static final SshAccess ACCESS = new SshAccess(Optional.of(2222), Optional.of("/keys/id"));
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir
    private Path folder;

    @Test
    void everyHostSaysWhichInterfacesItHas() throws Exception {
        var check = new HostCheck(
                ssh("echo lo; case $* in *' b '*) echo ens3;; *) echo eth0;; esac"), ACCESS, LONG, System.err);

        assertThat(check.ask(List.of("a", "b")))
                .isEqualTo(Map.of("a", Set.of("lo", "eth0"), "b", Set.of("lo", "ens3")));
    }

    @Test
    void theQuestionIsAskedWithoutAPromptAndWithThePortAndTheKey() throws Exception {
        Path asked = folder.resolve("asked");

        new HostCheck(ssh("echo \"$*\" >" + asked), ACCESS, LONG, System.err).ask(List.of("a"));

        assertThat(asked)
                .hasContent(
                        "-o BatchMode=yes -o PasswordAuthentication=no -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR"
                                + " -o ConnectTimeout=10 -p 2222 -i /keys/id a ls /sys/class/net;"
                                + " echo hvd-host-name: $(cat /proc/sys/kernel/hostname)");
    }

    /** A name may come to be known late, as those of pods do: the time that was promised is not cut short by a number of attempts. */
    @Test
    void aNameThatIsNotKnownYetIsWaitedForAndTheWaitIsSaid() throws Exception {
        Path attempts = folder.resolve("attempts");
        var said = new ByteArrayOutputStream();
        Path ssh = ssh("echo >>" + attempts + "; [ $(wc -l <" + attempts + ") -gt 7 ] && echo eth0 && exit;"
                + " echo 'ssh: Could not resolve hostname late: Name or service not known' >&2; exit 255");
        var check = new HostCheck(ssh, ACCESS, LONG, new PrintStream(said, true, UTF_8), Duration.ofMillis(50));

        assertThat(check.ask(List.of("late"))).isEqualTo(Map.of("late", Set.of("eth0")));

        assertThat(said.toString(UTF_8))
                .contains("waiting for late (ssh: Could not resolve hostname late", "30 s", "--start-timeout");
    }

    @Test
    void hostsThatAreNotReachedUntilTheLimitAreNamedWithWhatSshSays() throws Exception {
        Path ssh = ssh("case $* in *' good '*) echo eth0;; *) echo no route to b >&2; exit 255;; esac");

        assertThatThrownBy(
                        () -> new HostCheck(ssh, ACCESS, Duration.ofSeconds(3), System.err).ask(List.of("good", "b")))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll(
                        "hosts-unreachable",
                        "1 of 2",
                        "  b: no route to b",
                        "times within 3 s; --start-timeout",
                        "-p 2222 -i /keys/id b true")
                .hasMessageNotContaining("good:");
    }

    @Test
    void aNameThatStaysUnknownIsTheReasonAndNotThePassword() throws Exception {
        // The first question is answered, and the limit cuts the next one short.
        Path first = folder.resolve("first");
        Path ssh = ssh("[ -e " + first + " ] && exec sleep 600; touch " + first
                + "; echo 'ssh: Could not resolve hostname a: Name or service not known' >&2; exit 255");

        assertThatThrownBy(() -> new HostCheck(ssh, ACCESS, Duration.ofSeconds(2), System.err).ask(List.of("a")))
                .hasMessageContainingAll("  a: ssh: Could not resolve hostname a", "No such host is known here")
                .hasMessageNotContainingAny("no answer within", "password");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ada@c: Permission denied (publickey).",
                "Host key verification failed.",
                "Received disconnect from 10.0.0.3: Too many authentication failures",
            })
    void aHostThatRefusesIsNamedWithoutWaitingForTheLimitOrForOthers(String refusal) throws Exception {
        Path attempts = folder.resolve("attempts");
        Path ssh = ssh("case $* in *' late '*) echo unknown name >&2; exit 255;; esac; echo c >>" + attempts
                + "; echo '" + refusal + "' >&2; exit 255");
        var check = new HostCheck(ssh, ACCESS, Duration.ofHours(1), System.err);

        assertThatThrownBy(() -> check.ask(List.of("late", "c")))
                .hasMessageContainingAll("0 of 2", "  c: " + refusal, "  late: unknown name");
        assertThat(attempts).hasContent("c\n".repeat(5));
    }

    @Test
    void aHostThatComesUpMeanwhileIsReached() throws Exception {
        Path first = folder.resolve("first");
        Path ssh = ssh("[ -e " + first + " ] && echo eth0 && exit; touch " + first + "; exit 255");

        assertThat(new HostCheck(ssh, ACCESS, LONG, System.err).ask(List.of("a")))
                .isEqualTo(Map.of("a", Set.of("eth0")));
    }

    @Test
    void everyHostSaysWhatItCallsItself() throws Exception {
        var check = new HostCheck(
                ssh("echo eth0; case $* in *' b '*) ;; *) echo hvd-host-name: node-1;; esac"),
                ACCESS,
                LONG,
                System.err);

        assertThat(check.ask(List.of("a", "b"))).isEqualTo(Map.of("a", Set.of("eth0"), "b", Set.of("eth0")));
        assertThat(check.hostnames()).isEqualTo(Map.of("a", "node-1"));
    }

    @Test
    void allAreAskedAtTheSameTime() throws Exception {
        // Each waits for all others to have come.
        Path ssh =
                ssh("mkdir -p " + folder + "/here/$$; while [ $(ls " + folder + "/here | wc -l) -lt 3 ]; do :; done");

        assertThat(new HostCheck(ssh, ACCESS, LONG, System.err).ask(List.of("a", "b", "c")))
                .hasSize(3);
    }

    @Test
    void aHostThatNeverAnswersEndsWithTheLimitAndItsKnob() throws Exception {
        Path ssh = ssh("exec sleep 600");

        assertThatThrownBy(() -> new HostCheck(ssh, ACCESS, Duration.ofSeconds(1), System.err).ask(List.of("a")))
                .hasMessageContainingAll("a: no answer within 1 s", "--start-timeout");
    }

    @Test
    void aHostWithoutInterfacesToShowIsReachedAllTheSame() throws Exception {
        assertThat(new HostCheck(ssh("echo ls: no such folder; exit 2"), ACCESS, LONG, System.err).ask(List.of("a")))
                .isEqualTo(Map.of("a", Set.of()));
    }

    @Test
    void afterTheEndNoSshBeginsAnyMore() throws Exception {
        Path called = folder.resolve("called");
        var check = new HostCheck(ssh("touch " + called), ACCESS, LONG, System.err);

        check.end();

        assertThatThrownBy(() -> check.ask(List.of("a"))).hasMessageContaining("a: not asked");
        assertThat(called).doesNotExist();
    }

    private Path ssh(String script) throws IOException {
        Path file = Files.writeString(folder.resolve("ssh"), "#!/bin/sh\n" + script + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
    }
}
