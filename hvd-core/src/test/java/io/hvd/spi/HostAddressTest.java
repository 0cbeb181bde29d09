package io.hvd.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.spi.HostAddress.Candidate;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class HostAddressTest {
    private static final Topology ONE_HOST = Topology.of(0, List.of("a", "a"), List.of("a", "a"));
    private static final Topology TWO_HOSTS = Topology.of(0, List.of("a", "b"), List.of("a", "b"));

    private static final Candidate LOOPBACK = new Candidate("lo", false, address(1));
    private static final Candidate DOWN = new Candidate("eth0", false, address(2));
    private static final Candidate ONLY_VERSION_6 = new Candidate("eth1", true, Optional.empty());
    private static final Candidate ETHERNET = new Candidate("eth2", true, address(3));
    private static final Candidate INFINIBAND = new Candidate("ib0", true, address(4));
    private static final List<Candidate> BRIDGES = List.of(
            new Candidate("docker0", true, address(5)),
            new Candidate("virbr0", true, address(6)),
            new Candidate("br-5f2a", true, address(7)));

    @Test
    void ranksOfOneHostMeetOnTheLoopbackWhateverIsNamed() throws IOException {
        assertThat(HostAddress.of(ONE_HOST, Optional.empty()).isLoopbackAddress())
                .isTrue();
        assertThat(HostAddress.of(ONE_HOST, Optional.of("no0")).isLoopbackAddress())
                .isTrue();
    }

    @Test
    void theFirstInterfaceThatLeadsToOtherHostsIsTaken() throws IOException {
        List<Candidate> all = List.of(
                LOOPBACK, BRIDGES.get(0), BRIDGES.get(1), BRIDGES.get(2), DOWN, ONLY_VERSION_6, ETHERNET, INFINIBAND);

        assertThat(Optional.of(HostAddress.choose(all, Optional.empty()))).isEqualTo(ETHERNET.address());
    }

    /** Who names one knows why. */
    @Test
    void theInterfaceThatIsNamedIsTakenWhateverItIs() throws IOException {
        List<Candidate> all = List.of(ETHERNET, LOOPBACK, DOWN, BRIDGES.get(0), INFINIBAND);

        for (Candidate named : all) {
            assertThat(Optional.of(HostAddress.choose(all, Optional.of(named.name()))))
                    .as(named.name())
                    .isEqualTo(named.address());
        }
    }

    @Test
    void bridgesAloneLeadNowhereAndAreListed() {
        assertThatThrownBy(() -> HostAddress.choose(BRIDGES, Optional.empty()))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll("no usable network interface", "docker0", "virbr0", "br-5f2a");
    }

    @Test
    void aNameThatNoInterfaceOfThisHostHasIsAnErrorWithThoseThatThereAre() throws IOException {
        String[] there = NetworkInterface.networkInterfaces()
                .map(NetworkInterface::getName)
                .toArray(String[]::new);

        assertThatThrownBy(() -> HostAddress.of(TWO_HOSTS, Optional.of("no0")))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("named no0")
                .hasMessageContainingAll(there);
    }

    private static Optional<InetAddress> address(int last) {
        try {
            return Optional.of(InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) last}));
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }
}
