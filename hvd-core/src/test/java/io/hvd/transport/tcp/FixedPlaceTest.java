package io.hvd.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace;
import io.hvd.config.RankPlace.AtRankZero;
import io.hvd.net.HostAddress;
import io.hvd.testing.FreePorts;
import io.hvd.testing.StandardError;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Rank 0's end of a rendezvous at a place that all ranks know, on a host that has an address beside the loopback's. */
@Timeout(60)
class FixedPlaceTest {
    private static final HvdConfig PLAIN = HvdConfig.from(Map.of());

    private static AtRankZero at(List<String> hosts) {
        return new AtRankZero(hosts, List.of(FreePorts.one()), "a key", "", "SOME_LAUNCHER=here");
    }

    private static FixedPlace open(AtRankZero there, HvdConfig config) throws IOException {
        return FixedPlace.of(there, new RankPlace(0, 2, "the test", Optional.of(there)), config);
    }

    private static List<InetAddress> ownAddresses() throws IOException {
        return NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(address -> !address.isLinkLocalAddress())
                .toList();
    }

    private static List<InetAddress> listening(AtRankZero there) throws IOException {
        return ownAddresses().stream()
                .filter(address -> {
                    try (Socket socket = new Socket(address, there.ports().get(0))) {
                        return socket.isConnected();
                    } catch (ConnectException e) {
                        return false;
                    } catch (IOException e) {
                        throw new java.io.UncheckedIOException(e);
                    }
                })
                .toList();
    }

    @Test
    void ofMpirunsAddressesOnlyThoseOfTheChosenInterfacesAreListenedAt() throws IOException {
        AtRankZero there = at(ownAddresses().stream().map(HostAddress::digits).toList());
        String loopback = NetworkInterface.getByInetAddress(InetAddress.getLoopbackAddress())
                .getName();
        try (FixedPlace place = open(there, HvdConfig.from(Map.of("HOROVOD_GLOO_IFACE", loopback)))) {
            assertThat(place.secret()).hasSize(16);
            assertThat(listening(there)).isNotEmpty().allMatch(InetAddress::isLoopbackAddress);
        }
        assertThatThrownBy(() -> open(there, HvdConfig.from(Map.of("HOROVOD_GLOO_IFACE", "none0"))))
                .hasMessageContaining("none of the addresses [")
                .hasMessageContaining("HOROVOD_GLOO_IFACE=none0");
    }

    @Test
    void withoutAChoiceMpirunsAddressesOfTheLoopbackAreNotListenedAt() throws IOException {
        AtRankZero there = at(ownAddresses().stream().map(HostAddress::digits).toList());
        try (FixedPlace place = open(there, PLAIN)) {
            assertThat(place.secret()).hasSize(16);
            assertThat(listening(there)).isNotEmpty().noneMatch(InetAddress::isLoopbackAddress);
        }
    }

    @Test
    void ranksOfOtherHostsThatMeetWithoutASecretAreToldSo() throws Exception {
        String outside = ownAddresses().stream()
                .filter(address -> !address.isLoopbackAddress())
                .map(HostAddress::digits)
                .findFirst()
                .orElseThrow();
        assertThat(said("127.0.0.1", PLAIN)).doesNotContain("HVD_SECRET");
        assertThat(said(outside, PLAIN))
                .contains("the ranks meet without a secret", "SOME_LAUNCHER=here", "HVD_SECRET", "--gloo");
        assertThat(said(outside, HvdConfig.from(Map.of("HVD_SECRET", "mine")))).doesNotContain("HVD_SECRET");
    }

    private static String said(String host, HvdConfig config) throws Exception {
        return StandardError.during(() -> open(at(List.of(host)), config).close());
    }
}
