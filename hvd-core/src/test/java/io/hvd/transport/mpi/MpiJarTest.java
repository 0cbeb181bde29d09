package io.hvd.transport.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MpiJarTest {
    /** No Open MPI of this version exists, so nothing on the machine can match it. */
    private static final String VERSION = "9.8.7";

    @TempDir
    private Path folder;

    private OpenMpi mpi;

    @BeforeEach
    void installOpenMpi() throws IOException {
        Files.createDirectories(folder.resolve("prefix/lib"));
        mpi = new OpenMpi(VERSION, folder.resolve("prefix/lib/libmpi_java.so.40"), folder.resolve("prefix"));
    }

    private Path jar(String name, String version) throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        if (version != null) {
            manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, version);
        }
        Path file = folder.resolve(name);
        new JarOutputStream(Files.newOutputStream(file), manifest).close();
        return file;
    }

    private static HvdConfig naming(Path jar) {
        return HvdConfig.from(Map.of("HVD_MPI_JAR", jar.toString()));
    }

    private static final HvdConfig DEFAULTS = HvdConfig.from(Map.of());

    @Test
    void takesTheJarThatIsNamedWhenItsVersionMatches() throws IOException {
        Path named = jar("named.jar", VERSION);
        jar("prefix/lib/mpi.jar", VERSION);
        assertThat(MpiJar.matching(mpi, naming(named))).isEqualTo(named);
    }

    @Test
    void takesTheJarBesideTheLibraryWhenNoneIsNamed() throws IOException {
        Path installed = jar("prefix/lib/mpi.jar", VERSION);
        assertThat(MpiJar.matching(mpi, DEFAULTS)).isEqualTo(installed);
    }

    @Test
    void aJarOfAnotherVersionIsRefusedWithBothVersionsNamed() throws IOException {
        Path named = jar("named.jar", "4.1.4");
        jar("prefix/lib/mpi.jar", VERSION);
        assertThatThrownBy(() -> MpiJar.matching(mpi, naming(named)))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.MPI_JAR_MISMATCH))
                .hasMessageContainingAll(
                        "HVD-105",
                        VERSION,
                        "4.1.4",
                        named.toString(),
                        mpi.jniLibrary().toString(),
                        "setup.sh");
    }

    @Test
    void aJarInThePrefixOfAnotherVersionIsNamed() throws IOException {
        Path installed = jar("prefix/lib/mpi.jar", "9.8.6");
        assertThatThrownBy(() -> MpiJar.matching(mpi, DEFAULTS))
                .hasMessageContainingAll(VERSION, installed + " is of version 9.8.6");
    }

    @Test
    void aJarWithoutAVersionAndWhatIsNoJarAreOfUnknownVersion() throws IOException {
        Path silent = jar("silent.jar", null);
        Path text = Files.writeString(folder.resolve("text.jar"), "no jar");
        for (Path file : new Path[] {silent, text, folder.resolve("absent.jar")}) {
            assertThatThrownBy(() -> MpiJar.matching(mpi, naming(file)))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining(file + " is of version unknown");
        }
    }
}
