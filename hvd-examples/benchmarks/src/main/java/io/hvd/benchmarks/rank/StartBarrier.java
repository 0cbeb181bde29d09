package io.hvd.benchmarks.rank;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/**
 * A barrier for processes that do not communicate: each makes a file in a common folder, and waits for all others'
 * files.
 */
record StartBarrier(Path folder, PlaceInJob job) {
    private static final long LIMIT_NANOS = TimeUnit.MINUTES.toNanos(5);
    private static final long LOOK_AGAIN_NANOS = 200_000;

    void await(String name) {
        long end = System.nanoTime() + LIMIT_NANOS;
        try {
            Files.createFile(file(name, job.rank()));
        } catch (FileAlreadyExistsException e) {
            throw new IllegalStateException("the start barrier " + name + " was used already", e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        while (!IntStream.range(0, job.size()).allMatch(rank -> Files.exists(file(name, rank)))) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException(
                        "not all of " + job.size() + " processes came to the start barrier " + name);
            }
            LockSupport.parkNanos(LOOK_AGAIN_NANOS);
        }
    }

    private Path file(String name, int rank) {
        return folder.resolve("barrier-" + name + "-" + rank);
    }
}
