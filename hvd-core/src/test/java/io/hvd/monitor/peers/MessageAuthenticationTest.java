package io.hvd.monitor.peers;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class MessageAuthenticationTest {
    @Test
    void onlyWhatWasSignedWithTheSharesOfAllRanksIsBelieved() {
        byte[] zero = MessageAuthentication.share();
        byte[] one = MessageAuthentication.share();
        byte[] signed = MessageAuthentication.of(List.of(zero, one)).sign(new byte[] {4, 2});
        byte[] changed = signed.clone();
        changed[1]++;

        assertThat(MessageAuthentication.of(List.of(zero, one)).verify(signed)).contains(new byte[] {4, 2});
        assertThat(MessageAuthentication.of(List.of(one, zero)).verify(signed)).isEmpty();
        assertThat(MessageAuthentication.of(List.of(zero, one)).verify(changed)).isEmpty();
        assertThat(MessageAuthentication.of(List.of(zero, one)).verify(new byte[3]))
                .isEmpty();
    }
}
