package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The script horovodrun before its JVM runs, with a java that prints its words. */
final class LauncherScriptTest {

    @TempDir
    private Path home;

    @BeforeEach
    void anInstallation() throws IOException {
        Path script = home.resolve("a b/bin/horovodrun");
        Files.createDirectories(script.getParent());
        Files.copy(Path.of("horovodrun"), script);
        Path java = home.resolve("jdk/bin/java");
        Files.createDirectories(java.getParent());
        Files.writeString(java, "#!/bin/sh\necho \"$*\"\n");
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
        jar("hvd-launch-1.jar", "constant 0.1");
        jar("hvd-core-1.jar", "core");
    }

    private void jar(String name, String content) throws IOException {
        Path jar = home.resolve("a b/lib").resolve(name);
        Files.createDirectories(jar.getParent());
        Files.writeString(jar, content);
        Files.setLastModifiedTime(jar, FileTime.fromMillis(1_000_000_000_000L));
    }

    /** The name of the file that leads to the archive of the launcher's own JVM; empty if none is asked for. */
    private String archive(String... words) throws IOException, InterruptedException {
        var builder =
                new ProcessBuilder("sh", home.resolve("a b/bin/horovodrun").toString()).redirectErrorStream(true);
        builder.command().addAll(java.util.List.of(words));
        builder.environment().put("JAVA_HOME", home.resolve("jdk").toString());
        builder.environment().put("XDG_CACHE_HOME", home.resolve("cache").toString());
        builder.environment().remove("HVD_CLASS_ARCHIVE");
        Process process = builder.start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        assertThat(said).contains("io.hvd.command.HvdCommand run");
        return said.contains("-Dhvd.launcher.archive=")
                ? said.replaceFirst("(?s).*-Dhvd.launcher.archive=(\\S+).*", "$1")
                : "";
    }

    @Test
    void aLauncherThatIsRebuiltWithTheSameSizeAndTimeHasAnotherArchive() throws Exception {
        String first = archive("-np", "1", "true");
        assertThat(first).contains("/hvd/classes/launcher-");
        assertThat(archive("-np", "2", "true")).isEqualTo(first);

        jar("hvd-launch-1.jar", "constant 0.2");
        String second = archive("-np", "1", "true");
        assertThat(second).contains("/hvd/classes/launcher-").isNotEqualTo(first);

        jar("hvd-core-1.jar", "Core");
        assertThat(archive("-np", "1", "true")).isNotIn(first, second);

        jar("hvd-launch-1.jar", "constant 0.1");
        jar("hvd-core-1.jar", "core");
        assertThat(archive("-np", "1", "true")).isEqualTo(first);
    }

    @Test
    void noArchiveIsAskedForWhereTheFlagsSaySo() throws Exception {
        assertThat(archive("--no-class-archive", "-np", "1", "true")).isEmpty();
        assertThat(archive("--check-build")).isEmpty();
    }
}
