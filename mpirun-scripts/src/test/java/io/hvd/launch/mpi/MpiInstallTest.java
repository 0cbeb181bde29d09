package io.hvd.launch.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MpiInstallTest {

    @TempDir
    private Path home;

    @Test
    void withoutMpirunOneLineSaysWhatToInstall() {
        assertThatThrownBy(() -> MpiInstall.find(Map.of("PATH", home.toString())))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll("no-mpirun", "apt-get install openmpi-bin", "HVD_OPENMPI_HOME")
                .satisfies(e -> assertThat(e.getMessage().lines()).hasSize(1));
    }

    @Test
    void theOneOnPathIsStartedByItsBareName() throws IOException {
        Path mpirun = mpirun("mpirun (Open MPI) 4.1.9");
        Map<String, String> environment = Map.of("PATH", "/nowhere:" + mpirun.getParent());

        assertThat(MpiInstall.find(environment))
                .isEqualTo(new MpiInstall(
                        "mpirun",
                        mpirun,
                        new MpiVersion(MpiVersion.Flavour.OPEN_MPI, 4, 1, "Open MPI 4.1.9"),
                        environment));
    }

    @Test
    void theChosenPrefixGoesFirstForProgramsAndLibraries() throws IOException {
        Path mpirun = mpirun("mpirun (Open MPI) 5.0.7");

        var install = MpiInstall.find(
                Map.of("PATH", "/usr/bin", "LD_LIBRARY_PATH", "/cuda", "HVD_OPENMPI_HOME", home.toString()));

        assertThat(install.command()).isEqualTo(mpirun.toString());
        assertThat(install.version().major()).isEqualTo(5);
        assertThat(install.environment())
                .containsEntry("PATH", home + "/bin:/usr/bin")
                .containsEntry("LD_LIBRARY_PATH", home + "/lib:/cuda");
    }

    @Test
    void aPrefixWithoutMpirunIsNamed() {
        assertThatThrownBy(() -> MpiInstall.find(Map.of("PATH", "/usr/bin", "HVD_OPENMPI_HOME", home.toString())))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll("no-mpirun", home + "/bin/mpirun");
    }

    @Test
    void underMpichNothingIsStartedByAJavaThatCannotCallIt() throws IOException {
        Path mpirun = mpirun("HYDRA build details: Version: 4.0.2");

        MpiInstall install = MpiInstall.find(Map.of("PATH", mpirun.getParent().toString()));

        assertThatThrownBy(() -> install.requireRunsHvd(OptionalInt.of(17)))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll(
                        "mpi-cannot-run-hvd", "MPICH 4.0.2", "Java 22", "Java 17", "--dry-run", mpirun.toString());
        install.requireRunsHvd(OptionalInt.of(22));
    }

    @Test
    void anMpirunThatNobodyKnowsIsRefusedWithWhatItSays() throws IOException {
        Path mpirun = mpirun("my own wrapper 7");

        assertThatThrownBy(
                        () -> MpiInstall.find(Map.of("PATH", mpirun.getParent().toString())))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll("unknown-mpi", "my own wrapper 7", mpirun.toString());
    }

    private Path mpirun(String answer) throws IOException {
        Files.createDirectories(home.resolve("bin"));
        Path file = Files.writeString(home.resolve("bin/mpirun"), "#!/bin/sh\necho '" + answer + "'\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
    }
}
