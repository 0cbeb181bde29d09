package io.hvd.launch;

import io.hvd.error.FailureRecord;
import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Program of a test job: rank 1 fails with a cause, the others only in consequence. Rank 1 leaves
 * when all have written, with exit code 5; the others wait to be ended by mpirun.
 */
final class RecordingRank {

    private static final int LIMIT_SECONDS = 60;

    private RecordingRank() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Path directory = Path.of(System.getenv(FailureRecord.DIRECTORY_VARIABLE));
        int rank = Integer.parseInt(System.getenv("OMPI_COMM_WORLD_RANK"));
        int size = Integer.parseInt(System.getenv("OMPI_COMM_WORLD_SIZE"));
        System.out.println("rank " + rank + " of " + size);
        if (rank == 1) {
            record(rank, "the test asked for it", "java.lang.Error: planted\n\tat Somewhere", false)
                    .write(directory);
            awaitRecords(directory, size);
            System.exit(5);
        }
        awaitRecords(directory, 1);
        record(rank, "rank 1 has left", "", true).write(directory);
        new CountDownLatch(1).await(LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    private static FailureRecord record(int rank, String reason, String stack, boolean consequence) {
        return new FailureRecord(
                Instant.now(),
                rank,
                "node",
                ProcessHandle.current().pid(),
                "main",
                reason,
                stack,
                consequence,
                FailureRecord.UNKNOWN);
    }

    private static void awaitRecords(Path directory, int count) throws IOException, InterruptedException {
        try (var watch = directory.getFileSystem().newWatchService()) {
            directory.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
            List<FailureRecord> records = FailureRecord.readAll(directory);
            while (records.size() < count) {
                var key = watch.poll(LIMIT_SECONDS, TimeUnit.SECONDS);
                if (key == null) {
                    throw new IllegalStateException("only " + records.size() + " of " + count + " records");
                }
                key.pollEvents();
                key.reset();
                records = FailureRecord.readAll(directory);
            }
        }
    }
}
