package io.hvd.launch.hosts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class HostDiscoveryTest {

    @TempDir
    private Path folder;

    private HostDiscovery script(String text) throws IOException {
        Path script = Files.writeString(folder.resolve("hosts"), "#!/bin/sh\n" + text + "\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
        return new HostDiscovery(script, 2);
    }

    @Test
    void hostsComeWithTheirSlotsOrWithThoseOfEach() throws Exception {
        assertThat(script("echo a; echo; echo ' b:3 '; echo '[fd00::1]:4'").look())
                .containsExactly(new HostSlots("a", 2), new HostSlots("b", 3), new HostSlots("fd00::1", 4));
        assertThat(script("true").look()).isEmpty();
    }

    @Test
    void aScriptThatDoesNotEndInTimeIsEnded() {
        assertThatThrownBy(() -> script("sleep 600").look(1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("1 s");
    }
}
