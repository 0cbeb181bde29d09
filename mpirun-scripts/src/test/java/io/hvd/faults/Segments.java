package io.hvd.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The names of hvd in shared memory. Every job has some for a moment, and other jobs may run beside a test; what one
 * has left behind stays.
 */
final class Segments {
    private static final Path FOLDER = Path.of("/dev/shm");
    private static final long LIMIT_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private Segments() {}

    static Set<String> now() throws IOException {
        try (Stream<Path> files = Files.list(FOLDER)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.contains("hvd"))
                    .collect(Collectors.toSet());
        }
    }

    /** Segments that are there now, were not there before, and do not go away. */
    static Set<String> leftSince(Set<String> before) throws IOException {
        long begin = System.nanoTime();
        Set<String> left = now();
        left.removeAll(before);
        while (!left.isEmpty() && System.nanoTime() - begin < LIMIT_NANOS) {
            LockSupport.parkNanos(PAUSE_NANOS);
            left.retainAll(now());
        }
        return left;
    }
}
