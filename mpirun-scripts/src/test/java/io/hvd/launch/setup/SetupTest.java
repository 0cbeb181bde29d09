package io.hvd.launch.setup;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.JarFile;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** With an Open MPI of files that are made up, and scripts in the place of Debian's programs. */
@Timeout(120)
final class SetupTest {

    /** No machine has it. */
    private static final String VERSION = "9.8.7";

    @TempDir
    private Path folder;

    private Path prefix;
    private Path tools;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @BeforeEach
    void makeOpenMpi() throws IOException {
        prefix = folder.resolve("openmpi");
        tools = Files.createDirectories(folder.resolve("tools"));
        program(prefix.resolve("bin/mpirun"), "echo 'mpirun (Open MPI) " + VERSION + "'");
        Files.createDirectories(prefix.resolve("lib"));
        Files.writeString(prefix.resolve("lib/libmpi_java.so"), "");
        Files.writeString(prefix.resolve("lib/libmpi.so"), "\0v" + VERSION + "\0", StandardCharsets.ISO_8859_1);
    }

    @Test
    void theJarThatCameWithOpenMpiGoesIntoTheRepositoryUnderItsVersion() throws Exception {
        Files.write(prefix.resolve("lib/mpi.jar"), MpiJarMaker.jar("none", Map.of("mpi/Comm.class", new byte[] {1, 2
        })));

        assertThat(setUp(Map.of())).as(text(err)).isZero();

        assertThat(text(out)).contains("Open MPI " + VERSION + " (" + prefix + ")", "its mpi.jar is " + jar());
        assertThat(text(out)).contains("export HVD_MPI_JAR=" + jar());
        try (JarFile made = new JarFile(jar().toFile())) {
            assertThat(made.getManifest().getMainAttributes().getValue("Implementation-Version"))
                    .isEqualTo(VERSION);
            assertThat(made.getInputStream(made.getEntry("mpi/Comm.class")).readAllBytes())
                    .containsExactly(1, 2);
        }
    }

    @Test
    void whatIsThereAlreadyIsLeftAsItIs() throws Exception {
        Files.createDirectories(jar().getParent());
        Files.writeString(jar(), "as it was");

        assertThat(setUp(Map.of())).as(text(err)).isZero();

        assertThat(jar()).hasContent("as it was");
    }

    @Test
    void aDistributionsJarIsCompiledFromItsSourcePackage() throws Exception {
        Path sources = folder.resolve("openmpi-9/ompi/mpi/java/java");
        Files.createDirectories(sources);
        Files.writeString(sources.resolve("Comm.java"), "package mpi; public class Comm {}");
        Path archive = folder.resolve("openmpi_9.orig.tar.gz");
        var tar = new Tools(System.getenv(), System.err);
        tar.run(folder, List.of("tar", "-czf", archive.toString(), "openmpi-9"), "tar");
        program(
                tools.resolve("dpkg-query"),
                "case $1 in -S) echo \"libopenmpi9:amd64: $2\" ;; *) printf openmpi=9-1 ;; esac");
        program(
                tools.resolve("apt-get"),
                "echo \"$*\" >>" + folder + "/asked; case $* in *' source '*) cp " + archive + " . ;; esac");
        program(tools.resolve("xz"), "exit 1");

        assertThat(setUp(Map.of("PATH", tools + ":" + System.getenv("PATH"))))
                .as(text(err))
                .isZero();

        assertThat(text(err)).contains("compiling mpi.jar from the source package of libopenmpi9:amd64");
        assertThat(Files.readString(folder.resolve("asked"))).contains("--only-source openmpi=9-1");
        try (JarFile made = new JarFile(jar().toFile())) {
            assertThat(made.getEntry("mpi/Comm.class")).isNotNull();
        }
    }

    @Test
    void aLibraryThatNoPackageOwnsIsSaid() throws Exception {
        program(tools.resolve("xz"), "exit 1");

        assertThat(setUp(Map.of("PATH", tools.toString()))).isEqualTo(1);

        assertThat(text(err))
                .contains("no package owns that library", "HVD_OPENMPI_HOME")
                .hasLineCount(1);
    }

    @Test
    void anOpenMpiWithoutBindingsIsSaid() throws Exception {
        Files.delete(prefix.resolve("lib/libmpi_java.so"));

        assertThat(setUp(Map.of())).isEqualTo(1);

        assertThat(text(err)).contains("no libmpi_java.so", "--enable-mpi-java").hasLineCount(1);
    }

    @Test
    void withoutOpenMpiOneSentenceSaysWhatToAskFor() throws Exception {
        program(tools.resolve("apt-get"), "exit 1");

        assertThat(setUp(Map.of("HVD_OPENMPI_HOME", "", "PATH", tools.toString())))
                .isEqualTo(1);

        assertThat(text(err))
                .startsWith("setup: ask the administrator for: apt-get install --no-install-recommends openmpi-bin")
                .contains("xz-utils", "--install")
                .hasLineCount(1);
    }

    @Test
    void withoutAptTheMessageSaysWhatIsMissing() throws Exception {
        assertThat(setUp(Map.of("HVD_OPENMPI_HOME", "", "PATH", tools.toString())))
                .isEqualTo(1);

        assertThat(text(err))
                .contains("what Debian calls openmpi-bin", "no apt-get")
                .hasLineCount(1);
    }

    @Test
    void anotherMpiIsSaid() throws Exception {
        program(prefix.resolve("bin/mpirun"), "echo 'HYDRA build details: Version: 4.0.2'");

        assertThat(setUp(Map.of())).isEqualTo(1);

        assertThat(text(err)).contains("is MPICH 4.0.2", "Open MPI 4.1 or 5.0");
    }

    @Test
    void aFlagThatIsNotKnownStartsNothing() throws Exception {
        assertThat(setUp(Map.of(), "--prefix")).isEqualTo(2);

        assertThat(text(err)).contains("--prefix", "--help");
        assertThat(jar()).doesNotExist();
    }

    @Test
    void theHelpNamesItsFlags() throws Exception {
        assertThat(setUp(Map.of(), "--help")).isZero();
        assertThat(text(out)).contains("--install", "--repository FOLDER", "-h, --help");
    }

    private int setUp(Map<String, String> changed, String... more) throws Exception {
        Map<String, String> environment =
                new HashMap<>(Map.of("PATH", System.getenv("PATH"), "HVD_OPENMPI_HOME", prefix.toString()));
        environment.putAll(changed);
        String[] words = more.length > 0
                ? more
                : new String[] {"--repository", repository().toString()};
        return new Setup(
                        environment,
                        new PrintStream(out, true, StandardCharsets.UTF_8),
                        new PrintStream(err, true, StandardCharsets.UTF_8))
                .run(words);
    }

    private Path repository() {
        return folder.resolve("repository");
    }

    private Path jar() {
        return repository().resolve("org/open-mpi/mpi-java/9.8.7/mpi-java-9.8.7.jar");
    }

    private static String text(ByteArrayOutputStream bytes) {
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static void program(Path file, String script) throws IOException {
        Files.createDirectories(file.getParent());
        assertThat(Files.writeString(file, "#!/bin/sh\n" + script + "\n")
                        .toFile()
                        .setExecutable(true))
                .isTrue();
    }
}
