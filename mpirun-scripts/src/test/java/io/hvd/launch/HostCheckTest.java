package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
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

/** With a script in the place of ssh; {@link NamespaceHostsIT} has the real one. */
@Timeout(60)
final class HostCheckTest {

    private static final SshAccess ACCESS = new SshAccess(Optional.of(2222), Optional.of("/keys/id"));
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir
    private Path folder;

    @Test
    void everyHostSaysWhichInterfacesItHas() throws Exception {
        var check = new HostCheck(ssh("echo lo; case $* in *' b '*) echo ens3;; *) echo eth0;; esac"), ACCESS, LONG);

        assertThat(check.ask(List.of("a", "b")))
                .isEqualTo(Map.of("a", Set.of("lo", "eth0"), "b", Set.of("lo", "ens3")));
    }

    @Test
    void theQuestionIsAskedWithoutAPromptAndWithThePortAndTheKey() throws Exception {
        Path asked = folder.resolve("asked");

        new HostCheck(ssh("echo \"$*\" >" + asked), ACCESS, LONG).ask(List.of("a"));

        assertThat(asked)
                .hasContent(
                        "-o BatchMode=yes -o PasswordAuthentication=no -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR"
                                + " -o ConnectTimeout=10 -p 2222 -i /keys/id a ls /sys/class/net");
    }

    @Test
    void hostsThatAreNotReachedAreNamedWithWhatSshSaysAfterFiveAttempts() throws Exception {
        Path attempts = folder.resolve("attempts");
        Path ssh = ssh("case $* in *' good '*) echo eth0;; *' b '*) echo b >>" + attempts
                + "; echo no route to b >&2; exit 255;; *) echo Permission denied for c >&2; exit 255;; esac");

        assertThatThrownBy(() -> new HostCheck(ssh, ACCESS, LONG).ask(List.of("good", "b", "c")))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll(
                        "hosts-unreachable",
                        "1 of 3",
                        "  b: no route to b",
                        "  c: Permission denied for c",
                        "-p 2222 -i /keys/id b true")
                .hasMessageNotContaining("good:");
        assertThat(attempts).hasContent("b\n".repeat(5));
    }

    @Test
    void aHostThatComesUpMeanwhileIsReached() throws Exception {
        Path first = folder.resolve("first");
        Path ssh = ssh("[ -e " + first + " ] && echo eth0 && exit; touch " + first + "; exit 255");

        assertThat(new HostCheck(ssh, ACCESS, LONG).ask(List.of("a"))).isEqualTo(Map.of("a", Set.of("eth0")));
    }

    @Test
    void allAreAskedAtTheSameTime() throws Exception {
        // Each waits for all others to have come.
        Path ssh =
                ssh("mkdir -p " + folder + "/here/$$; while [ $(ls " + folder + "/here | wc -l) -lt 3 ]; do :; done");

        assertThat(new HostCheck(ssh, ACCESS, LONG).ask(List.of("a", "b", "c"))).hasSize(3);
    }

    @Test
    void aHostThatNeverAnswersEndsWithTheLimitAndItsKnob() throws Exception {
        Path ssh = ssh("exec sleep 600");

        assertThatThrownBy(() -> new HostCheck(ssh, ACCESS, Duration.ofSeconds(1)).ask(List.of("a")))
                .hasMessageContainingAll("a: no answer within 1 s", "--start-timeout");
    }

    @Test
    void aHostWithoutInterfacesToShowIsReachedAllTheSame() throws Exception {
        assertThat(new HostCheck(ssh("echo ls: no such folder; exit 2"), ACCESS, LONG).ask(List.of("a")))
                .isEqualTo(Map.of("a", Set.of()));
    }

    @Test
    void afterTheEndNoSshBeginsAnyMore() throws Exception {
        Path called = folder.resolve("called");
        var check = new HostCheck(ssh("touch " + called), ACCESS, LONG);

        check.end();

        assertThatThrownBy(() -> check.ask(List.of("a"))).hasMessageContaining("a: not asked");
        assertThat(called).doesNotExist();
    }

    private Path ssh(String script) throws IOException {
        Path file = Files.writeString(folder.resolve("ssh"), "#!/bin/sh\n" + script + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
    }
}
