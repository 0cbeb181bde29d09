package io.hvd.launch.failure;

import io.hvd.error.FailureRecord;
import io.hvd.error.SuccessMarker;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The private folder in which the ranks of one job leave their failure records; it goes when the job has ended. */
public final class FailureDirectory implements AutoCloseable {

    private final Path path;

    public FailureDirectory() throws IOException {
        path = Files.createTempDirectory(
                "hvd-failures-", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }

    public Path path() {
        return path;
    }

    public List<FailureRecord> records() throws IOException {
        return FailureRecord.readAll(path);
    }

    /**
     * Causes first, and last what says that the launcher's host has disappeared: hosts that have lost each other accuse each
     * other, and may share this folder.
     *
     * @param here the name of the launcher's host
     */
    public List<FailureRecord> records(String here) throws IOException {
        String accused = "host " + here + " with ranks ";
        List<FailureRecord> records = new ArrayList<>(records());
        records.sort(Comparator.comparing(FailureRecord::consequence)
                .thenComparing(record -> record.reason().contains(accused)));
        return List.copyOf(records);
    }

    /** Whether the ranks have said that all of them end well, whatever mpirun says. */
    public boolean hasGoodEnd() {
        return SuccessMarker.isIn(path);
    }

    /** Whether a program has ended before it has left the job, whatever its exit code. */
    public boolean hasEarlyEnd() throws IOException {
        return records().stream().anyMatch(record -> !record.consequence() && record.exitCode() == FailureRecord.EARLY);
    }

    /** Idempotent; the end of the job and a signal may both call it, at the same time too. */
    @Override
    public synchronized void close() throws IOException {
        if (!Files.isDirectory(path)) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
            for (Path file : files) {
                Files.deleteIfExists(file);
            }
        }
        Files.deleteIfExists(path);
    }
}
