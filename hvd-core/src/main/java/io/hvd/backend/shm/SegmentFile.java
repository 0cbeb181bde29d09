package io.hvd.backend.shm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * The file behind a segment. It has a name only until all ranks have mapped it, so that nothing is left of it however
 * they end.
 */
final class SegmentFile {
    private static final int BLOCK = 1 << 20;

    private SegmentFile() {}

    /**
     * Makes one that is full of zeros: a sparse file on a full disk would be made good at the first touch, by a signal
     * that ends the process.
     *
     * @param folder in memory
     */
    static Path create(Path folder, int bytes) throws IOException {
        var onlyMine = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
        Path file = Files.createTempFile(folder, "hvd-", ".shm", onlyMine);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            ByteBuffer zeros = ByteBuffer.allocateDirect(Math.min(BLOCK, bytes));
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

    /** @param bytes that it has */
    static FileChannel open(Path file, int bytes) throws IOException {
        FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
        if (channel.size() != bytes) {
            String found = file + " has " + channel.size() + " bytes, expected " + bytes;
            channel.close();
            throw new IOException(found);
        }
        return channel;
    }

    /** The memory stays as long as the buffer is reachable, with or without a name. */
    static MappedByteBuffer map(FileChannel file) throws IOException {
        return file.map(MapMode.READ_WRITE, 0, file.size());
    }
}
