package io.hvd.launch.failure;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.FailureRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
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

    @Test
    void whoSaysThatThisHostHasDisappearedIsReadLast() throws IOException {
        String lost = " with ranks [0, 1] has disappeared: it gives no sign of life";
        try (var folder = new FailureDirectory()) {
            leave(folder, 3, 0, true, "host here" + lost);
            leave(folder, 0, 10, true, "host elsewhere" + lost);
            leave(folder, 1, 5, true, "rank 4 is gone");
            leave(folder, 2, 30, false, "the disk is full");

            assertThat(folder.records("here")).extracting(FailureRecord::rank).containsExactly(2, 1, 0, 3);
        }
    }

    private static void leave(FailureDirectory folder, int rank, long millis, boolean consequence, String reason)
            throws IOException {
        Instant time = Instant.parse("2026-01-02T12:00:00Z").plusMillis(millis);
        new FailureRecord(time, rank, "a", 4711, "main", reason, "", consequence, -1).write(folder.path());
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
