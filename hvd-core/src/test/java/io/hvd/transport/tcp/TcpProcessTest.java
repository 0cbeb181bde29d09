package io.hvd.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.HvdException;
import io.hvd.net.Encryption;
import io.hvd.net.HandshakeListener;
import io.hvd.net.LauncherAddress;
import io.hvd.net.PortRange;
import io.hvd.rendezvous.RendezvousServer;
import io.hvd.testing.FreePorts;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TcpProcessTest {
    private static HvdConfig config(InetSocketAddress meeting, byte[] secret, String limitSeconds) {
        var address = new LauncherAddress(HexFormat.of().formatHex(secret), List.of(meeting));
        return HvdConfig.from(Map.of(
                "HOROVOD_RANK",
                "0",
                "HOROVOD_SIZE",
                "1",
                "HOROVOD_START_TIMEOUT",
                limitSeconds,
                "HVD_RENDEZVOUS",
                "launcher=" + address.encode()));
    }

    private static ServerSocketChannel socket() throws Exception {
        return HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY);
    }

    /** As where a rank of an elastic job has died before the others had met: the next generation meets somewhere else. */
    @Test
    void afterAMeetingThatHasFailedTheNextOneIsWhereTheSettingsSay() throws Exception {
        byte[] secret = HandshakeListener.newSecret();
        HvdConfig nobodyThere =
                config(new InetSocketAddress(InetAddress.getLoopbackAddress(), FreePorts.one()), secret, "1");
        ServerSocketChannel socket = socket();
        HvdConfig next = config((InetSocketAddress) socket.getLocalAddress(), secret, "30");
        TcpProcess process = new TcpProcess("hvd-engine-0");
        var job = new RendezvousServer.Job(1, secret, Encryption.NONE, Duration.ofSeconds(10));

        assertThatThrownBy(() -> process.join(nobodyThere, List.of(), "")).isInstanceOf(HvdException.class);
        try (RendezvousServer server = RendezvousServer.start(List.of(socket), job);
                TcpBootstrap met = process.join(next, List.of(), "")) {
            assertThat(met.topology().size()).isEqualTo(1);
        }
    }
}
