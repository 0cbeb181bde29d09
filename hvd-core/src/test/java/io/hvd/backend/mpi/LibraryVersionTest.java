package io.hvd.backend.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LibraryVersionTest {
    @TempDir
    private Path folder;

    private Path library(String content) throws IOException {
        Path file = folder.resolve("libmpi.so.40");
        return Files.write(file, content.getBytes(StandardCharsets.ISO_8859_1));
    }

    @ParameterizedTest
    @CsvSource({"v4.1.4, 4.1.4", "v5.0.7, 5.0.7", "v5.0.0rc12, 5.0.0rc12", "v10.20.30, 10.20.30"})
    void readsTheReleaseOutOfTheLibrarysStrings(String text, String version) throws IOException {
        String noise = "\u007fELF\0\u00ff\u00fe127.0.0.1\0v4.1\0v1.2.3.4\0xv9.9.9\0";
        assertThat(LibraryVersion.read(library(noise + "\0" + text + "\0tail"))).contains(version);
    }

    @Test
    void aBareNumberIsNoRelease() throws IOException {
        assertThat(LibraryVersion.read(library("\0" + "4.1.4\0" + "10.0.0.1\0version v4.1.4 of\0")))
                .isEmpty();
    }

    @Test
    void aFileThatIsNotThereOrEmptyHasNoVersion() throws IOException {
        assertThat(LibraryVersion.read(folder.resolve("none.so"))).isEmpty();
        assertThat(LibraryVersion.read(library(""))).isEmpty();
    }

    @Test
    void findsTheReleaseInALargeLibrary() throws IOException {
        String noise = "\0abc v1".repeat(500_000);
        assertThat(LibraryVersion.read(library(noise + "\0v4.1.6\0" + noise))).contains("4.1.6");
    }
}
