package io.hvd.launch.hosts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.launch.words.UsageException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostSlotsTest {
    @TempDir
    Path folder;

    private Path hostfile(String text, Charset charset) throws Exception {
        return Files.write(folder.resolve("hosts"), text.getBytes(charset));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\ufeffnode1 slots=2\r\nnode2 slots=4\r\n",
                "node1\u00a0slots=2\nnode2 slots=4",
                "node1\tslots=2\t \n\u200b\nnode2\u2003slots=4\u00a0",
                "\u00a0\nnode1 slots=2 # the first\u200b\nno\u200bde2 slots = 4\r",
            })
    void whatCannotBeSeenInAHostfileMakesNoOtherHost(String text) throws Exception {
        assertThat(HostSlots.readFile(hostfile(text, StandardCharsets.UTF_8)))
                .containsExactly(new HostSlots("node1", 2), new HostSlots("node2", 4));
    }

    @Test
    void aListThatWasCopiedFromAPageIsRead() {
        assertThat(HostSlots.parse("\u200bnode1:2,\u00a0node2:4\ufeff"))
                .containsExactly(new HostSlots("node1", 2), new HostSlots("node2", 4));
    }

    @Test
    void anIpv6AddressStandsInBrackets() throws Exception {
        List<HostSlots> hosts = List.of(new HostSlots("fd00::1", 2), new HostSlots("fe80::a%eth0", 4));
        assertThat(HostSlots.parse("[fd00::1]:2,[fe80::a%eth0]:4")).isEqualTo(hosts);
        assertThat(HostSlots.join(hosts)).isEqualTo("[fd00::1]:2,[fe80::a%eth0]:4");
        assertThat(HostSlots.readFile(hostfile("[fd00::1] slots=2", StandardCharsets.UTF_8)))
                .containsExactly(hosts.get(0));
        for (String wrong :
                List.of("fd00::1:2", "[fd00::1]", "[]:2", "[node1]:2", "[-oProxyCommand=x:]:2", "[fd00::1%]:2")) {
            assertThatThrownBy(() -> HostSlots.parse(wrong)).as(wrong).hasMessageContaining("host-format");
        }
    }

    @Test
    void aHostfileOfAnotherEncodingIsNamedSo() throws Exception {
        assertThatThrownBy(() -> HostSlots.readFile(hostfile("node1 slots=2\n", StandardCharsets.UTF_16)))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll("hostfile-unreadable", "UTF-16", "expected UTF-8");
        assertThatThrownBy(
                        () -> HostSlots.readFile(hostfile("node1 slots=2\n# caf\u00e9\n", StandardCharsets.ISO_8859_1)))
                .hasMessageContainingAll("hostfile-unreadable", "0xe9", "line 2");
    }

    @Test
    void aLineThatIsWrongIsShownWithWhatCannotBeSeen() throws Exception {
        assertThatThrownBy(() -> HostSlots.readFile(hostfile("node\u200c1 slots=2\n", StandardCharsets.UTF_8)))
                .hasMessageContainingAll("line 1", "node\\u200c1 slots=2");
    }
}
