package io.hvd.monitor.peers;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.net.Encryption;
import io.hvd.net.PortRange;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

class MonitorSocketsTest {
    @Test
    void strangersAreNotAnswered() throws Exception {
        try (MonitorSockets sockets =
                MonitorSockets.open(InetAddress.getLoopbackAddress(), PortRange.ANY, Encryption.NONE)) {
            MessageAuthentication ours = MessageAuthentication.of(List.of(MessageAuthentication.share()));
            MessageAuthentication theirs = MessageAuthentication.of(List.of(MessageAuthentication.share()));
            sockets.serve(
                    "test-monitor",
                    ours.password(),
                    message -> {},
                    question -> ours.verify(question).map(ours::sign));

            byte[] question = {1, 2, 3};
            byte[] password = ours.password();
            assertThat(MonitorSockets.ask(Encryption.NONE, sockets.questions(), password, ours.sign(question), 5000))
                    .isEqualTo(ours.sign(question));
            assertThat(catchIo(() -> MonitorSockets.ask(
                            Encryption.NONE, sockets.questions(), password, theirs.sign(question), 5000)))
                    .isNotNull();
            assertThat(catchIo(() -> MonitorSockets.ask(
                            Encryption.NONE, sockets.questions(), theirs.password(), ours.sign(question), 5000)))
                    .isNotNull();
        }
    }

    @Test
    void aSignOfLifeThatIsSentAgainProvesNothing() {
        var order = new LatestBeats();

        assertThat(order.isNews(3, 7)).isTrue();
        assertThat(order.isNews(3, 7)).as("the same").isFalse();
        assertThat(order.isNews(3, 6)).as("an older one").isFalse();
        assertThat(order.isNews(4, 7)).as("of another rank").isTrue();
        assertThat(order.isNews(3, 8)).isTrue();
    }

    private interface Io {
        void run() throws IOException;
    }

    private static IOException catchIo(Io action) {
        try {
            action.run();
            return null;
        } catch (IOException e) {
            return e;
        }
    }
}
