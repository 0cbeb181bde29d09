package io.hvd.optimizer.torch.natives;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UnpackedNativesTest {
    private static final String ENTRIES = "org/bytedeco/pytorch/linux-x86_64/";
    private static final FileTime TIME = FileTime.fromMillis(1_000_000_000_000L);

    @TempDir
    private Path home;

    private Path jar;
    private Path folder;

    @BeforeEach
    void aJarAndWhatJavaCppUnpacksOfIt() throws IOException {
        jar = home.resolve("natives.jar");
        folder = Files.createDirectories(home.resolve("cache/natives.jar/" + ENTRIES));
        jar("build one");
        unpacked("libc10.so", "build one");
    }

    private void jar(String library) throws IOException {
        try (OutputStream out = Files.newOutputStream(jar);
                var zip = new ZipOutputStream(out)) {
            for (String name : List.of(ENTRIES, ENTRIES + "libc10.so", "org/bytedeco/pytorch/other/libc10.so")) {
                var entry = new ZipEntry(name);
                entry.setLastModifiedTime(TIME);
                zip.putNextEntry(entry);
                if (!name.endsWith("/")) {
                    zip.write(library.getBytes(StandardCharsets.UTF_8));
                }
            }
        }
        Files.setLastModifiedTime(jar, TIME);
    }

    private void unpacked(String name, String library) throws IOException {
        Files.setLastModifiedTime(Files.writeString(folder.resolve(name), library), TIME);
    }

    private boolean deletesForeign() throws IOException {
        return UnpackedNatives.of(
                        URI.create("jar:" + jar.toUri() + "!/" + ENTRIES).toURL(), folder)
                .get(0)
                .deleteForeign();
    }

    @Test
    void whatIsTheJarsOwnStaysAndIsReadOnce() throws IOException {
        assertThat(deletesForeign()).isFalse();
        assertThat(folder.resolve(UnpackedNatives.NOTE)).exists();
        unpacked("libc10.so", "not read again");
        assertThat(deletesForeign()).isFalse();
    }

    @Test
    void aLibraryOfAnotherJarOfTheSameNameSizeAndTimeGoes() throws IOException {
        assertThat(deletesForeign()).isFalse();
        jar("build two");

        assertThat(deletesForeign()).isTrue();
        assertThat(folder.resolve("libc10.so")).doesNotExist();

        unpacked("libc10.so", "build two");
        String before = Files.readString(folder.resolve(UnpackedNatives.NOTE));
        assertThat(deletesForeign()).isFalse();
        assertThat(Files.readString(folder.resolve(UnpackedNatives.NOTE))).isNotEqualTo(before);
    }

    @Test
    void whatTheJarDoesNotHaveAndLinksAreLeftAlone() throws IOException {
        unpacked("libother.so", "of the user's");
        Files.delete(folder.resolve("libc10.so"));
        Files.createSymbolicLink(folder.resolve("libc10.so"), folder.resolve("libother.so"));
        assertThat(deletesForeign()).isFalse();
        assertThat(folder.resolve("libc10.so")).isSymbolicLink();
    }

    @Test
    void aFolderOfClassesIsNotUnpacked() throws IOException {
        assertThat(UnpackedNatives.of(folder.toUri().toURL(), folder)).isEmpty();
    }
}
