package io.hvd.launch.failure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

final class FailureDirectoryTest {
    private static final int ROUNDS = 1_000;

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

    /** Many times, since the moment between a look at the folder and its deletion is short. */
    @Test
    @Timeout(120)
    void twoMayDeleteItAtTheSameTime() throws Exception {
        ExecutorService other = Executors.newSingleThreadExecutor();
        try {
            for (int round = 0; round < ROUNDS; round++) {
                var folder = new FailureDirectory();
                Files.writeString(folder.path().resolve("rank-0.failure"), "x");
                var together = new CyclicBarrier(2);
                Future<?> signal = other.submit(() -> close(folder, together));

                close(folder, together);
                signal.get();

                assertThat(folder.path()).doesNotExist();
            }
        } finally {
            other.shutdownNow();
        }
    }

    private static Void close(FailureDirectory folder, CyclicBarrier together) throws Exception {
        together.await();
        folder.close();
        return null;
    }
}
