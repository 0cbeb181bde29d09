package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.FailureRecord;
import io.hvd.error.LauncherAddress;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FrontDeskTest {

    @TempDir
    private Path folder;

    @Test
    void aRecordThatIsSentLiesInTheFolderAsIfWrittenThere() throws IOException {
        var record = new FailureRecord(Instant.now(), 5, "b", 77, "main", "no space: ü", "at A.b", false, 1);
        try (FrontDesk desk = FrontDesk.open(folder, false, Set.of())) {
            here(desk).send(LauncherAddress.FAILURE, bytes(record.encode()));
        }

        assertThat(FailureRecord.readAll(folder)).containsExactly(record);
    }

    @Test
    void aStrangerATornRecordAndAnUnknownNameAreNotStored() throws IOException {
        try (FrontDesk desk = FrontDesk.open(folder, false, Set.of())) {
            LauncherAddress known = here(desk);
            var stranger = new LauncherAddress("0".repeat(32), known.addresses(), known.port());

            assertThatThrownBy(() -> stranger.send(LauncherAddress.FAILURE, bytes("x")))
                    .isInstanceOf(IOException.class);
            assertThatThrownBy(() -> known.send(LauncherAddress.FAILURE, bytes("rank=1")))
                    .isInstanceOf(IOException.class);
            assertThatThrownBy(() -> known.send("result-0", bytes("x"))).isInstanceOf(IOException.class);
            assertThatThrownBy(() -> known.send("../../x", bytes("x"))).isInstanceOf(IOException.class);
        }

        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aCallerThatAnnouncesTooMuchIsCutOff() throws IOException {
        try (FrontDesk desk = FrontDesk.open(folder, false, Set.of());
                Socket caller = new Socket(
                        InetAddress.getLoopbackAddress(), desk.address().port())) {
            new DataOutputStream(caller.getOutputStream()).writeInt(Integer.MAX_VALUE);

            assertThat(caller.getInputStream().read()).isEqualTo(-1);
        }
    }

    @Test
    void aResultIsStoredWhereOneIsAwaited() throws IOException {
        try (FrontDesk desk = FrontDesk.open(folder, true, Set.of())) {
            here(desk).send("result-3", new byte[100_000]);
        }

        assertThat(Files.size(folder.resolve("result-3"))).isEqualTo(100_000);
    }

    @Test
    void theAddressSurvivesTheEnvironment() throws IOException {
        var address = new LauncherAddress(
                "00ff", List.of(InetAddress.getByName("10.1.2.3"), InetAddress.getByName("fd00::1")), 4711);

        assertThat(LauncherAddress.decode(address.encode())).isEqualTo(address);
        assertThatThrownBy(() -> LauncherAddress.decode("nonsense")).hasMessageContaining(LauncherAddress.VARIABLE);
    }

    private static LauncherAddress here(FrontDesk desk) {
        return new LauncherAddress(
                desk.address().token(),
                List.of(InetAddress.getLoopbackAddress()),
                desk.address().port());
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
