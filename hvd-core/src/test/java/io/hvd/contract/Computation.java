package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * One rank computes, and calls nothing of hvd, until the others have done what they can do without it. The ranks may be
 * processes, so a file tells it; a rank that nobody tells gives up after a while, so that a test fails instead of hanging.
 */
record Computation(Path end) {
    private static final Duration MOST = Duration.ofSeconds(20);

    /** All ranks call it together. */
    static Computation agreed(HvdContext hvd) {
        return new Computation(
                Path.of(hvd.broadcastObject("computation", hvd.rank() == 0 ? fresh() : null, ObjectCodec.utf8(), 0)));
    }

    private static String fresh() {
        try {
            Path file = Files.createTempFile("hvd-computation-", ".end");
            Files.delete(file);
            file.toFile().deleteOnExit();
            return file.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The others have done their part. */
    void finish() {
        try {
            Files.createFile(end);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Computes until they have. */
    void run() {
        long began = System.nanoTime();
        while (!Files.exists(end) && System.nanoTime() - began < MOST.toNanos()) {
            LockSupport.parkNanos(1_000_000);
        }
        assertThat(end)
                .as("the others ended what they do among themselves while this rank computed")
                .exists();
    }
}
