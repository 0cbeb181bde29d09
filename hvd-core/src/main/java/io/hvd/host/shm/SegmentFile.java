package io.hvd.host.shm;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.file.RegularFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;

/**
 * The file behind a segment. It has a name only until all ranks have mapped it, so nothing is left of it however they
 * end. If they are killed in between, the next job deletes it.
 */
final class SegmentFile {
    private static final int BLOCK = 1 << 20;

    /** The age at which a named file is deleted, far longer than all ranks need to map it. */
    private static final Duration NAMED = Duration.ofMinutes(10);

    private SegmentFile() {}

    /**
     * Makes a file and fills it with zeros. In a sparse file on a full disk, the first access to a page would end the
     * process by a signal.
     *
     * @param folder a folder in memory
     */
    static Path create(Path folder, int bytes) throws IOException {
        deleteForgotten(folder);
        var onlyMine = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
        Path file = Files.createTempFile(folder, "hvd-", ".shm", onlyMine);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            ByteBuffer zeros = BufferLedger.PROCESS.direct(Owner.CONVERSION, Math.min(BLOCK, bytes));
            for (int done = 0; done < bytes; ) {
                zeros.clear().limit(Math.min(zeros.capacity(), bytes - done));
                done += channel.write(zeros);
            }
            return file;
        } catch (IOException e) {
            Files.delete(file);
            throw e;
        }
    }

    private static void deleteForgotten(Path folder) throws IOException {
        Instant latest = Instant.now().minus(NAMED);
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "hvd-*.shm")) {
            for (Path file : files) {
                try {
                    if (Files.getLastModifiedTime(file).toInstant().isBefore(latest)) {
                        Files.delete(file);
                    }
                } catch (IOException goneOrOfAnotherUser) {
                    continue;
                }
            }
        }
    }

    /** @param bytes the length that the file must have */
    static FileChannel open(Path file, int bytes) throws IOException {
        FileChannel channel = FileChannel.open(RegularFile.at(file), StandardOpenOption.READ, StandardOpenOption.WRITE);
        if (channel.size() != bytes) {
            String found = file + " has " + channel.size() + " bytes, expected " + bytes;
            channel.close();
            throw new IOException(found);
        }
        return channel;
    }

    /** The memory stays as long as the buffer is reachable, with or without a name. */
    static MappedByteBuffer map(FileChannel file) throws IOException {
        return BufferLedger.PROCESS.map(Owner.SHARED_MEMORY, file, MapMode.READ_WRITE, 0, file.size());
    }
}
