package io.hvd.doctor.network;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Through the loopback of this machine. */
@Timeout(60)
final class DiallerTest {

    private static final int MILLIS = 60;

    private final ExaminationSecret secret = ExaminationSecret.random();

    @Test
    void theWayToAnOpenPortIsMeasured() throws IOException {
        try (var listener = new Listener(secret, Map.of())) {
            listener.open("lo", "127.0.0.1");

            List<MeasuredLink> links = new Dialler("a", secret).measure("b", listener.ports(), MILLIS);

            assertThat(links).hasSize(1);
            MeasuredLink link = links.get(0);
            assertThat(link.obstacle()).isEmpty();
            assertThat(List.of(link.from(), link.to(), link.network(), link.address()))
                    .containsExactly("a", "b", "lo", "127.0.0.1");
            assertThat(link.roundTripMicros()).isBetween(1.0, 1e6);
            assertThat(link.bytesPerSecond()).isPositive();
            // One clock; the quickest trip bounds what can be misread.
            assertThat(link.clockAheadMicros()).isBetween(-50_000.0, 50_000.0);
        }
    }

    @Test
    void aHostThatDoesNotKnowTheSecretIsNotAccepted() throws IOException {
        try (var listener = new Listener(secret, Map.of())) {
            listener.open("lo", "127.0.0.1");

            MeasuredLink link = new Dialler("a", ExaminationSecret.random())
                    .measure("b", listener.ports(), MILLIS)
                    .get(0);

            assertThat(link.open()).isFalse();
        }
    }

    @Test
    void strangersThatSayNothingAreNoObstacle() throws IOException {
        List<Socket> strangers = new ArrayList<>();
        try (var listener = new Listener(secret, Map.of())) {
            listener.open("lo", "127.0.0.1");
            for (int i = 0; i < 50; i++) {
                strangers.add(new Socket("127.0.0.1", listener.ports().get(0).number()));
                strangers.get(i).getOutputStream().write(new byte[i % 17]);
            }

            MeasuredLink link = new Dialler("a", secret)
                    .measure("b", listener.ports(), MILLIS)
                    .get(0);

            assertThat(link.obstacle()).isEmpty();
        } finally {
            for (Socket stranger : strangers) {
                stranger.close();
            }
        }
    }

    @Test
    void aClosedPortIsAnObstacleAndNoFailure() throws IOException {
        var listener = new Listener(secret, Map.of());
        listener.open("lo", "127.0.0.1");
        List<ListeningPort> ports = listener.ports();
        listener.close();

        MeasuredLink link = new Dialler("a", secret).measure("b", ports, MILLIS).get(0);

        assertThat(link.obstacle()).containsIgnoringCase("refused");
    }
}
