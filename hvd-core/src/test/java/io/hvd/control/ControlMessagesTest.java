package io.hvd.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.net.HandshakeListener;
import io.hvd.net.Invitation;
import io.hvd.testing.DamagedMessages;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** The messages with which the control plane is set up and ended. */
class ControlMessagesTest {
    @Test
    void rankZerosInvitation() throws Exception {
        for (String host : new String[] {"10.1.2.3", "fd00::1"}) {
            var meeting = new Invitation(
                    new InetSocketAddress(InetAddress.getByName(host), 4711), HandshakeListener.newSecret());

            assertThat(Invitation.decode(meeting.encode()))
                    .usingRecursiveComparison()
                    .isEqualTo(meeting);
            DamagedMessages.of(meeting.encode(), Invitation::decode);
        }
    }

    @Test
    void theWordsOfTheFinalBarrier() {
        for (BarrierWord.What what : BarrierWord.What.values()) {
            var word = new BarrierWord(1 << 20, what, 3);

            assertThat(BarrierWord.decode(word.encode())).isEqualTo(word);
            byte[] bytes = new byte[word.encode().remaining()];
            word.encode().get(bytes);
            DamagedMessages.of(bytes, damaged -> BarrierWord.decode(ByteBuffer.wrap(damaged)));
        }
    }
}
