package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** This process has no key. {@code TlsIT} has those that have one. */
class EncryptionTest {
    @Test
    void onlyWhoEncryptsNeedsAKey() {
        assertThatCode(Encryption.NONE::requireKey).doesNotThrowAnyException();
        assertThatThrownBy(Encryption.TLS::requireKey)
                .hasMessageContainingAll(
                        "HVD-103", "HVD_TLS", "javax.net.ssl.keyStore", "No available authentication scheme");
    }
}
