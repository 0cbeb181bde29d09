package io.hvd.launch.archive;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the launcher does after a job about the archive of its own JVM, whose java makes a file where an archive is asked for. */
final class LauncherArchiveTest {

    private static final String JAVA = """
            #!/bin/sh
            [ -e "%1$s/refuses" ] && exit 1
            for word in "$@"; do
                case $word in -XX:SharedArchiveFile=*) echo archive >"${word#*=}" ;; esac
            done
            """;

    @TempDir
    private Path home;

    private Path archives;
    private Path link;
    private Path refusal;
    private ArchivedProgram program;

    @BeforeEach
    void makeTheJdkTheJarAndTheFolder() throws IOException {
        Path java = home.resolve("jdk/bin/java");
        write(java, String.format(Locale.ROOT, JAVA, home));
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
        write(home.resolve("jdk/lib/server/libjvm.so"), "jvm");
        write(home.resolve("jdk/lib/modules"), "modules");
        jar("launch.jar");
        archives = Files.createDirectories(home.resolve("classes"));
        Files.setPosixFilePermissions(archives, PosixFilePermissions.fromString("rwx------"));
        link = archives.resolve("launcher-12-34");
        refusal = archives.resolve("launcher-12-34-no-56-78");
        program = new ArchivedProgram(
                java, List.of(), List.of(home.resolve("launch.jar").toString()));
    }

    @Test
    void afterTheFirstJobTheNameThatTheScriptKnowsLeadsToAnArchive() throws IOException {
        Path recording = recording();
        listing(recording).after(0, program, Map.of(), true);

        assertThat(link).isSymbolicLink().hasContent("archive\n");
        assertThat(link.toRealPath().getFileName().toString()).startsWith(program.name());
        assertThat(recording).doesNotExist();

        new LauncherArchive(link, Optional.empty()).after(1, program, Map.of(), true);
        assertThat(link).hasContent("archive\n");
    }

    @Test
    void anArchiveThatIsThereIsNotMadeASecondTime() throws IOException {
        listing(recording()).after(0, program, Map.of(), true);
        Path made = link.toRealPath();
        Files.delete(link);

        listing(recording()).after(0, program, Map.of(), true);

        assertThat(link.toRealPath()).isEqualTo(made);
        assertThat(names()).filteredOn(name -> name.endsWith(".jsa")).hasSize(1);
    }

    @Test
    void anArchiveOfOtherJarsIsGivenUpSoThatTheNextStartListsItsClasses() throws IOException {
        listing(recording()).after(0, program, Map.of(), true);
        Files.setLastModifiedTime(home.resolve("launch.jar"), FileTime.fromMillis(1000));

        new LauncherArchive(link, Optional.empty()).after(0, program, Map.of(), true);

        assertThat(Files.exists(link, LinkOption.NOFOLLOW_LINKS)).isFalse();
    }

    @Test
    void anEmptyFileTellsTheScriptThatTheJvmHasRefused() throws IOException {
        write(home.resolve("refuses"), "");
        listing(recording()).after(0, program, Map.of(), true);
        assertThat(link).isRegularFile().isEmptyFile();

        new LauncherArchive(link, Optional.empty()).after(0, program, Map.of(), true);
        assertThat(link).exists();

        Files.delete(home.resolve("refuses"));
        write(home.resolve("jdk/lib/modules"), "other modules");
        new LauncherArchive(link, Optional.empty()).after(0, program, Map.of(), true);
        assertThat(link).doesNotExist();
    }

    @Test
    void anEmptyFileOfItsOwnTellsTheScriptThatNoArchiveIsPossibleWithTheseVariables() throws IOException {
        Path recording = recording();
        listing(recording).refuse();

        assertThat(refusal).isRegularFile().isEmptyFile();
        assertThat(link).doesNotExist();
        assertThat(recording).doesNotExist();

        Path again = recording();
        listing(again).refuse();
        assertThat(again).doesNotExist();
    }

    @Test
    void whoHasAnArchiveOrAFolderThatOthersCanWriteRemembersNoRefusal() throws IOException {
        new LauncherArchive(link, Optional.empty()).refuse();
        assertThat(names()).isEmpty();

        Path recording = recording();
        Files.setPosixFilePermissions(archives, PosixFilePermissions.fromString("rwxrwxrwx"));
        listing(recording).refuse();
        assertThat(names()).isEmpty();
    }

    @Test
    void whatAJobThatHasFailedOrNeverBeganHasListedIsThrownAway() throws IOException {
        Path failed = recording();
        listing(failed).after(1, program, Map.of(), true);
        Path refused = recording();
        listing(refused).forget();

        assertThat(names()).isEmpty();
    }

    @Test
    void aFileThatLeadsNowhereGoesWithTheNextArchive() throws IOException {
        Path old = Files.createSymbolicLink(archives.resolve("launcher-56-78"), Path.of("gone.jsa"));

        listing(recording()).after(0, program, Map.of(), true);

        assertThat(names())
                .contains(link.getFileName().toString())
                .doesNotContain(old.getFileName().toString());
    }

    private LauncherArchive listing(Path recording) {
        return new LauncherArchive(link, Optional.of(new LauncherArchive.Listing(recording, refusal)));
    }

    private Path recording() throws IOException {
        Path recording = Files.createTempDirectory(archives, "recording-launcher-");
        write(recording.resolve("1.txt"), "io/hvd/launch/Horovodrun\n");
        return recording;
    }

    private List<String> names() throws IOException {
        try (Stream<Path> files = Files.list(archives)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }

    private void jar(String name) throws IOException {
        try (OutputStream out = Files.newOutputStream(home.resolve(name));
                var jar = new JarOutputStream(out)) {
            jar.putNextEntry(new JarEntry("empty"));
        }
    }

    private static void write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
