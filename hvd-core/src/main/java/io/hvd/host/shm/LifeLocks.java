package io.hvd.host.shm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;

/**
 * Locks by which the processes that share a file see that one of them has died: each holds the byte at its place, and
 * the kernel releases it when the process ends. No process ever waits for a lock.
 *
 * <p>A process loses its locks on a file as soon as it closes any channel to it, so it opens no second one. Ranks that
 * are threads of one process have all ended when the process has, or have left.
 */
final class LifeLocks implements AutoCloseable {
    private final FileChannel file;
    /** Keeps the lock reachable; otherwise the JVM would forget that the byte is its own. */
    private final FileLock own;

    private LifeLocks(FileChannel file, FileLock own) {
        this.file = file;
        this.own = own;
    }

    /**
     * Takes this rank's lock. All ranks do so before one of them looks.
     *
     * @param file open for reading and writing; from here on closed together with this object
     */
    static LifeLocks hold(FileChannel file, int place) throws IOException {
        FileLock own = file.tryLock(place, 1, false);
        if (own == null) {
            throw new IOException("another process holds the lock at place " + place + " of a new segment");
        }
        return new LifeLocks(file, own);
    }

    /**
     * Whether the process at a place has ended. It looks by a shared lock, so that processes that look at the same time
     * do not take each other for the owner.
     */
    boolean hasEnded(int place) {
        try (FileLock free = file.tryLock(place, 1, true)) {
            return free != null;
        } catch (OverlappingFileLockException sameProcess) {
            return false;
        } catch (IOException unknown) {
            return false;
        }
    }

    @Override
    public void close() {
        try {
            file.close();
        } catch (IOException e) {
            throw new UncheckedIOException("a segment of shared memory could not be closed", e);
        }
    }
}
