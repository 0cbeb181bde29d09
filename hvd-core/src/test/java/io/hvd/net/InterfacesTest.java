package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class InterfacesTest {

    @ParameterizedTest
    @CsvSource({
        "'', eth0, 10.1.2.3, true",
        "'', docker0, 172.17.0.1, false",
        "'', lo, 127.0.0.1, false",
        "eth0, eth0, 10.1.2.3, true",
        "eth0, eth1, 10.1.2.3, false",
        "mlx5_0:1, mlx5_0, 10.1.2.3, true",
        "'ib0,eth1', eth1, 10.1.2.3, true",
        "10.0.0.0/8, eth0, 10.1.2.3, true",
        "10.0.0.0/8, eth0, 11.1.2.3, false",
        "10.1.2.0/23, eth0, 10.1.3.255, true",
        "10.1.2.0/23, eth0, 10.1.4.0, false",
        "0.0.0.0/0, eth0, 192.168.1.1, true",
        "10.1.2.3/32, eth0, 10.1.2.4, false",
        "10.0.0.0/8, eth0, fd00::1, false",
        "fd00::/8, eth0, fd12::1, true",
        "fd00::/16, eth0, fd12::1, false",
        "host.name/8, eth0, 10.1.2.3, false"
    })
    void anAddressIsMeantByTheNameOfItsInterfaceOrByItsNetwork(String asked, String name, String address, boolean meant)
            throws UnknownHostException {
        assertThat(Interfaces.isMeant(asked, name, InetAddress.getByName(address)))
                .isEqualTo(meant);
    }
}
