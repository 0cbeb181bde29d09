package io.hvd.transport.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MpiLibraryTest {
    @TempDir
    private Path prefix;

    private Path file(String name) throws IOException {
        Path file = prefix.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.createFile(file);
    }

    private Optional<Path> startedBy(String launcher) {
        return MpiLibrary.find(
                Optional.empty(), Optional.of(prefix.resolve("bin").resolve(launcher)));
    }

    /** As in Debian, where libmpi.so itself is the one that the administrator prefers. */
    @Test
    void ofTwoInOneFolderTheLaunchersIsTaken() throws IOException {
        Path openMpi = file("lib/x86_64-linux-gnu/libmpi.so.40");
        Path mpich = file("lib/x86_64-linux-gnu/libmpich.so.12");
        file("lib/x86_64-linux-gnu/libmpi.so");

        assertThat(startedBy("orterun")).contains(openMpi);
        assertThat(startedBy("prterun")).contains(openMpi);
        assertThat(startedBy("hydra_pmi_proxy")).contains(mpich);
        assertThat(startedBy("mpiexec.hydra")).contains(mpich);
        assertThat(startedBy("mpirun.mpich")).contains(mpich);
    }

    @Test
    void relativesOfMpichHaveAnotherName() throws IOException {
        Path intel = file("lib/libmpi.so.12");

        assertThat(startedBy("mpiexec.hydra")).contains(intel);
    }

    @Test
    void theHomeInTheSettingsIsOpenMpis() throws IOException {
        Path openMpi = file("lib/libmpi.so.40");
        file("lib/libmpich.so.12");

        assertThat(MpiLibrary.find(Optional.of(prefix), Optional.of(prefix.resolve("bin/mpiexec.hydra"))))
                .contains(openMpi);
        assertThat(MpiLibrary.find(Optional.empty(), Optional.empty())).isEmpty();
    }
}
