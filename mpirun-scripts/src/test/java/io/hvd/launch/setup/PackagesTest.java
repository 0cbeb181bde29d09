package io.hvd.launch.setup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a script in the place of apt-get, which writes down what it is asked. */
final class PackagesTest {

    @TempDir
    private Path folder;

    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @Test
    void whatIsMissingIsInstalledInOneCallAfterTheListsAreUpdated() throws Exception {
        packages(true, "exit 0").require(List.of("openmpi-bin", "xz-utils"));

        assertThat(Files.readAllLines(folder.resolve("asked")))
                .containsExactly(
                        "update", "install -y --no-install-recommends -o DPkg::Lock::Timeout=120 openmpi-bin xz-utils");
        assertThat(err.toString(StandardCharsets.UTF_8)).isEqualTo("setup: installing openmpi-bin xz-utils\n");
    }

    @Test
    void listsThatCannotBeUpdatedAreNoReasonToStop() throws Exception {
        packages(true, "[ $1 != update ]").require(List.of("xz-utils"));

        assertThat(err.toString(StandardCharsets.UTF_8)).contains("going on although apt-get update failed");
    }

    @Test
    void whatAptSaysOfItsFailureIsShown() throws Exception {
        Packages packages = packages(true, "echo no room left; exit 1");

        assertThatThrownBy(() -> packages.require(List.of("xz-utils")))
                .isInstanceOf(SetupException.class)
                .hasMessageContaining("apt-get could not install");
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("no room left");
    }

    @Test
    void withoutLeaveNothingIsInstalled() throws Exception {
        Packages packages = packages(false, "exit 0");

        assertThatThrownBy(() -> packages.require(List.of("xz-utils")))
                .hasMessage("ask the administrator for: apt-get install --no-install-recommends xz-utils;"
                        + " as root, java -jar hvd-launch.jar setup --install runs it");
        assertThat(folder.resolve("asked")).doesNotExist();
    }

    private Packages packages(boolean mayInstall, String end) throws IOException {
        Path apt = Files.writeString(
                folder.resolve("apt-get"), "#!/bin/sh\necho \"$*\" >>" + folder + "/asked\n" + end + "\n");
        assertThat(apt.toFile().setExecutable(true)).isTrue();
        var tools = new Tools(Map.of("PATH", folder.toString()), new PrintStream(err, true, StandardCharsets.UTF_8));
        return new Packages(tools, mayInstall);
    }
}
