package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import java.util.Random;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

class HmacTest {
    private static final HexFormat HEX = HexFormat.of();

    /** RFC 4231, test case 2. */
    @Test
    void signsAsTheStandardSays() {
        byte[] key = "Jefe".getBytes(StandardCharsets.US_ASCII);
        byte[] message = "what do ya want for nothing?".getBytes(StandardCharsets.US_ASCII);

        assertThat(HEX.formatHex(new Hmac(key).of(message)))
                .isEqualTo("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    @Test
    void signsAsTheJdkDoes() throws GeneralSecurityException {
        var random = new Random(4231);
        for (int bytes : new int[] {0, 1, 31, 55, 56, 63, 64, 65, 1000}) {
            byte[] key = new byte[1 + random.nextInt(64)];
            byte[] message = new byte[bytes];
            random.nextBytes(key);
            random.nextBytes(message);
            Mac jdk = Mac.getInstance("HmacSHA256");
            jdk.init(new SecretKeySpec(key, "HmacSHA256"));

            assertThat(new Hmac(key).of(message)).isEqualTo(jdk.doFinal(message));
        }
    }
}
