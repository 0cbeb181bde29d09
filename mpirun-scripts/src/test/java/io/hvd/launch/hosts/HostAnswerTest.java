package io.hvd.launch.hosts;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class HostAnswerTest {

    @Test
    void aHostNamesItsInterfacesAndItself() {
        HostAnswer answer = HostAnswer.of(0, "Welcome to a host\neth0\nlo\nhvd-host-name: node-1");

        assertThat(answer.interfaces()).contains(Set.of("eth0", "lo"));
        assertThat(answer.hostname()).contains("node-1");
        assertThat(answer.isRefusal()).isFalse();
    }

    @Test
    void aHostThatCannotAnswerIsReachedAllTheSame() {
        HostAnswer answer = HostAnswer.of(2, "ls: Permission denied");

        assertThat(answer.interfaces()).contains(Set.of());
        assertThat(answer.hostname()).isEmpty();
        assertThat(answer.isRefusal()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"me@a: Permission denied (publickey).", "Host key verification failed."})
    void askingAgainIsNoUseWhereSshIsRefused(String said) {
        HostAnswer answer = HostAnswer.of(SshAccess.NOT_REACHED, said);

        assertThat(answer.interfaces()).isEmpty();
        assertThat(answer.isRefusal()).isTrue();
        assertThat(answer.said()).isEqualTo(said);
    }

    @Test
    void aHostThatIsNotThereYetMayCome() {
        assertThat(HostAnswer.of(SshAccess.NOT_REACHED, "ssh: connect to host a port 22: Connection refused")
                        .isRefusal())
                .isFalse();
        assertThat(HostAnswer.none("not asked within 3 s").interfaces()).isEmpty();
    }
}
