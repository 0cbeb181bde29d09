package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.testing.FreePorts;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import org.junit.jupiter.api.Test;

class ServerSocketsTest {
    @Test
    void whereOneOfItsAddressesHasNoFreePortNoSocketStaysOpen() throws IOException {
        var first = InetAddress.getByName("127.0.0.1");
        var second = InetAddress.getByName("127.0.0.2");
        int port = FreePorts.one();
        try (var taken = new ServerSocket(port, 1, second)) {
            assertThat(taken.isBound()).isTrue();
            var range = new PortRange(port, port);

            assertThatThrownBy(() -> ServerSockets.listen(List.of(first, second), range, sockets -> sockets))
                    .isInstanceOf(BindException.class);

            new ServerSocket(port, 1, first).close();
        }
    }
}
