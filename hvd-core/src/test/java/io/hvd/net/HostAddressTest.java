package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.net.HostAddress.Candidate;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HostAddressTest {
    private static final List<Integer> ONE_HOST = List.of(0, 0);
    private static final List<Integer> TWO_HOSTS = List.of(0, 1);

    private static final Candidate LOOPBACK = new Candidate("lo", false, address(1));
    private static final Candidate DOWN = new Candidate("eth0", false, address(2));
    private static final Candidate ONLY_VERSION_6 = new Candidate("eth1", true, List.of());
    private static final Candidate ETHERNET = new Candidate("eth2", true, address(3));
    private static final Candidate INFINIBAND = new Candidate("ib0", true, address(4));
    private static final List<Candidate> BRIDGES = List.of(
            new Candidate("docker0", true, address(5)),
            new Candidate("virbr0", true, address(6)),
            new Candidate("br-0123456789ab", true, address(7)),
            new Candidate("podman1", true, address(8)),
            new Candidate("cni0", true, address(9)),
            new Candidate("lxdbr0", true, address(10)),
            new Candidate("veth3a", true, address(11)),
            new Candidate("cali12", true, address(12)),
            new Candidate("vboxnet0", true, address(13)));

    @Test
    void ranksOfOneHostMeetOnTheLoopbackWhateverIsNamed() throws IOException {
        assertThat(HostAddress.of(ONE_HOST, Optional.empty()).isLoopbackAddress())
                .isTrue();
        assertThat(HostAddress.of(ONE_HOST, Optional.of("no0")).isLoopbackAddress())
                .isTrue();
    }

    /** Where nothing else does, as without /proc and with the name "localhost". */
    @Test
    void theAddressesThatLeadOutTellHostsApart() {
        List<String> one = HostAddress.addresses(List.of(LOOPBACK, BRIDGES.get(0), ETHERNET));

        assertThat(HostAddress.addresses(List.of(ETHERNET, LOOPBACK, BRIDGES.get(0))))
                .isEqualTo(one);
        assertThat(HostAddress.addresses(List.of(LOOPBACK, BRIDGES.get(0), INFINIBAND)))
                .isNotEqualTo(one);
        assertThat(HostAddress.addresses(List.of(LOOPBACK, DOWN))).isEmpty();
    }

    @Test
    void theFirstInterfaceThatLeadsToOtherHostsIsTaken() throws IOException {
        List<Candidate> all = new ArrayList<>(BRIDGES);
        all.addAll(List.of(LOOPBACK, DOWN, ONLY_VERSION_6, ETHERNET, INFINIBAND));

        assertThat(List.of(HostAddress.choose(all, ""))).isEqualTo(ETHERNET.addresses());
    }

    /** An interface that the user names is taken, even the loopback. */
    @Test
    void theInterfaceThatIsNamedIsTakenWhateverItIs() throws IOException {
        List<Candidate> all = List.of(ETHERNET, LOOPBACK, DOWN, BRIDGES.get(0), INFINIBAND);

        for (Candidate named : all) {
            assertThat(List.of(HostAddress.choose(all, named.name())))
                    .as(named.name())
                    .isEqualTo(named.addresses());
        }
    }

    /** A bridge of Open vSwitch or a home router, which leads out. */
    @Test
    void aBridgeWithoutANumberOfDockersIsNoneOfDockers() throws IOException {
        var bridge = new Candidate("br-ex", true, address(14));

        assertThat(List.of(HostAddress.choose(List.of(bridge), ""))).isEqualTo(bridge.addresses());
    }

    @ParameterizedTest
    @CsvSource({
        "'eth9,ib0', 10.0.0.4",
        "'ib0,eth2', 10.0.0.4",
        "'eth2,ib0', 10.0.0.3",
        "ib0:1, 10.0.0.4",
        "10.0.0.4/30, 10.0.0.4",
        "'10.9.0.0/16,10.0.0.3/32', 10.0.0.3",
        "10.0.0.0/8, 10.0.0.3",
        "0.0.0.0/0, 10.0.0.3"
    })
    void theFirstOfAListThatThisHostHasIsTaken(String asked, String address) throws IOException {
        List<Candidate> all = List.of(LOOPBACK, DOWN, ETHERNET, INFINIBAND);

        assertThat(HostAddress.choose(all, asked).getHostAddress()).isEqualTo(address);
    }

    @ParameterizedTest
    @CsvSource({
        "'', fd00:0:0:0:0:0:0:6",
        "eth1, fd00:0:0:0:0:0:0:6",
        "fd00::/16, fd00:0:0:0:0:0:0:6",
        "'10.0.0.0/8,fd00::/16', fd00:0:0:0:0:0:0:6",
        "'eth7,docker0,eth1', fd00:0:0:0:0:0:0:6"
    })
    void whereThereIsNoIpv4AnIpv6AddressIsTakenButNoneOfALink(String asked, String address) throws IOException {
        List<Candidate> all = List.of(
                new Candidate("docker0", true, addresses("fe80::9")),
                new Candidate("eth7", true, addresses("fe80::7")),
                new Candidate("eth1", true, addresses("fe80::6", "fd00::6")));

        assertThat(HostAddress.choose(all, asked).getHostAddress()).isEqualTo(address);
        assertThatThrownBy(() -> HostAddress.choose(all.subList(0, 2), "")).hasMessageContaining("[docker0, eth7]");
        assertThatThrownBy(() -> HostAddress.choose(all, "fe80::/10")).hasMessageContaining("named fe80::/10");
    }

    @ParameterizedTest
    @CsvSource({
        "'', 10.0.0.3",
        "eth8, 10.0.0.9",
        "'fd00::/16,eth2', fd00:0:0:0:0:0:0:8",
        "'eth6,eth2', 2001:db8:0:0:0:0:0:1"
    })
    void anIpv4AddressComesFirstAmongAllThatAreMeant(String asked, String address) throws IOException {
        List<Candidate> all = List.of(
                new Candidate("eth6", true, addresses("2001:db8::1")),
                ETHERNET,
                new Candidate("eth8", true, addresses("fd00::8", "10.0.0.9")));

        assertThat(HostAddress.choose(all, asked).getHostAddress()).isEqualTo(address);
    }

    @Test
    void bridgesAloneLeadNowhereAndAreListed() {
        assertThatThrownBy(() -> HostAddress.choose(BRIDGES, ""))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll("no usable network interface", "docker0", "virbr0", "br-0123456789ab");
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

    private static List<InetAddress> addresses(String... digits) throws IOException {
        List<InetAddress> all = new ArrayList<>();
        for (String one : digits) {
            all.add(InetAddress.getByName(one));
        }
        return all;
    }

    private static List<InetAddress> address(int last) {
        try {
            return List.of(InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) last}));
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }
}
