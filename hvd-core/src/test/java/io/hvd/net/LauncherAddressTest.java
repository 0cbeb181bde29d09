package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class LauncherAddressTest {

    /** HOROVOD_START_TIMEOUT may be 5 s, and counts for all attempts together. */
    @Test
    void anAddressThatSwallowsWhatIsSentToItIsWaitedForAMomentOnly() throws IOException {
        List<SocketChannel> queue = new ArrayList<>();
        try (var full = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            for (int i = 0; i < 10; i++) {
                queue.add(SocketChannel.open());
                queue.get(i).configureBlocking(false);
                queue.get(i).connect(full.getLocalSocketAddress());
            }

            assertThatThrownBy(() -> launcherAt(full).reachable(Set.of())).hasMessageContaining("does not answer");
        } finally {
            for (SocketChannel waiting : queue) {
                waiting.close();
            }
        }
    }

    @Test
    void whereAnotherProgramAnswersTheNextAddressIsReturned() throws IOException {
        try (var one = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                var two = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            LauncherAddress launcher = launcherAt(one, two);

            assertThat(launcher.reachable(Set.of(address(one)))).isEqualTo(address(two));
            assertThat(launcher.reachable(Set.of(address(two)))).isEqualTo(address(one));
            assertThat(launcher.reachable(Set.of(address(one), address(two))))
                    .as("each is tried again")
                    .isIn(address(one), address(two));
        }
    }

    private static LauncherAddress launcherAt(ServerSocket... sockets) {
        return new LauncherAddress(
                "00",
                List.of(sockets).stream().map(LauncherAddressTest::address).toList());
    }

    private static InetSocketAddress address(ServerSocket socket) {
        return (InetSocketAddress) socket.getLocalSocketAddress();
    }
}
