package io.hvd.host.hybrid;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.Topology;
import io.hvd.testing.DamagedMessages;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What processes with ranks as threads tell each other. */
class HybridMessagesTest {
    @Test
    void aMessageBetweenTwoThreadsKeepsItsAddress() {
        ByteBuffer words = ByteBuffer.wrap(new byte[] {9, 1, 2, 9}).position(1).limit(3);

        Addressed arrived = Addressed.decode(new Addressed(3, 4, words).encode());

        assertThat(arrived).isEqualTo(new Addressed(3, 4, ByteBuffer.wrap(new byte[] {1, 2})));
        DamagedMessages.of(new byte[8], bytes -> Addressed.decode(ByteBuffer.wrap(bytes)));
    }

    @Test
    void whatTheThreadsOfAProcessSayIsToldApart() {
        List<byte[]> parts = List.of(new byte[] {1}, new byte[0], new byte[70_000]);

        assertThat(InterProcess.parted(InterProcess.joined(parts)))
                .usingRecursiveComparison()
                .isEqualTo(parts);
        DamagedMessages.of(InterProcess.joined(List.of(new byte[3], new byte[2])), InterProcess::parted);
    }

    @Test
    void theNumberOfThreadsIsAgreedOn() {
        Topology two = Topology.of(1, List.of("a", "b"), List.of("a", "b"));

        assertThat(Grid.agreed(two, List.of(Grid.tell(3), Grid.tell(3)))).isEqualTo(new Grid(2, 1, 3));
        DamagedMessages.of(Grid.tell(3), Grid::threads);
    }
}
