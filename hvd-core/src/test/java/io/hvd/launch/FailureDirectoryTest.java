package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;

final class FailureDirectoryTest {

    @Test
    void nobodyElseMayLookIntoItAndItGoesWithWhatItHolds() throws IOException {
        Path path;
        try (var folder = new FailureDirectory()) {
            path = folder.path();
            Files.writeString(path.resolve("rank-0.failure"), "x");
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
                    .isEqualTo("rwx------");
        }

        assertThat(path).doesNotExist();
    }
}
