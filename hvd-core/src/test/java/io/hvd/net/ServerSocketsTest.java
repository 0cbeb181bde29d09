package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
        try (var taken = new ServerSocket(0, 1, second)) {
            var range = new PortRange(taken.getLocalPort(), taken.getLocalPort());

            assertThatThrownBy(() -> ServerSockets.listen(List.of(first, second), range, sockets -> sockets))
                    .isInstanceOf(BindException.class);

            new ServerSocket(taken.getLocalPort(), 1, first).close();
        }
    }
}
