package io.hvd.timeline;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;

/**
 * A JSON array on disk that is whole at every moment, also when the process is killed between any two
 * instructions, and also in a copy that is made meanwhile, unless the copy reads a page in the very
 * microsecond in which it is written: file systems let a reader see half of a write.
 *
 * <p>The closing bracket stands at the end of a stretch of blanks and does not move; events are written
 * over the blanks. One write stays within one block of the size of a memory page, which a kill does not
 * cut in two, and no event lies across the edge of a block:
 *
 * <pre>
 * [ event, event, event   blanks up to the block's end | , event, event   blanks ... ]
 * </pre>
 *
 * When the blanks are used up, a longer file is made beside this one and takes its place by a rename.
 * Used by one thread.
 */
final class TimelineFile implements AutoCloseable {
    /** The smallest memory page there is. */
    static final int BLOCK = 4096;

    private static final long FIRST_BYTES = 16 * BLOCK;
    private static final byte[] END = {'\n', ']', '\n'};

    private final Path path;
    private final byte[] begin;
    private FileChannel channel;
    private long size;
    /** Where the next event may begin. */
    private long at;

    private TimelineFile(Path path, byte[] begin) {
        this.path = path;
        this.begin = begin;
        this.at = begin.length;
    }

    /**
     * Makes the file, in place of an older one.
     *
     * @param first event
     */
    static TimelineFile create(Path path, String first) throws IOException {
        if (Files.exists(path) && !Files.isRegularFile(path)) {
            throw new IOException(path + " is no regular file");
        }
        TimelineFile file = new TimelineFile(
                Files.exists(path) ? path.toRealPath() : path.toAbsolutePath(),
                ("[\n" + first).getBytes(StandardCharsets.US_ASCII));
        file.replace(FIRST_BYTES);
        return file;
    }

    /** @param events JSON objects in ASCII, each shorter than a block */
    void append(List<String> events) throws IOException {
        ByteArrayOutputStream gathered = new ByteArrayOutputStream();
        for (String event : events) {
            byte[] bytes = (",\n" + event).getBytes(StandardCharsets.US_ASCII);
            if (bytes.length > BLOCK) {
                throw new IllegalArgumentException("an event of " + bytes.length + " bytes");
            }
            long next = at + gathered.size();
            if (next % BLOCK + bytes.length > BLOCK) {
                write(gathered);
                at = (next / BLOCK + 1) * BLOCK;
            }
            if (at + gathered.size() + bytes.length + END.length > size) {
                write(gathered);
                replace(2 * size);
            }
            gathered.writeBytes(bytes);
        }
        write(gathered);
    }

    /** Takes the blanks away. */
    @Override
    public void close() throws IOException {
        try {
            replace(at + END.length);
        } finally {
            channel.close();
        }
    }

    private void write(ByteArrayOutputStream gathered) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(gathered.toByteArray());
        gathered.reset();
        at = write(channel, bytes, at);
    }

    private static long write(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
        long next = position;
        while (bytes.hasRemaining()) {
            next += channel.write(bytes, next);
        }
        return next;
    }

    /** Moves the events to a file of another length; {@link #at} stays where it is. */
    private void replace(long length) throws IOException {
        Path part = path.resolveSibling(path.getFileName() + ".part");
        Files.deleteIfExists(part); // of an earlier run, or a link that leads elsewhere
        FileChannel fresh = FileChannel.open(part, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        try {
            fill(fresh, channel == null ? write(fresh, ByteBuffer.wrap(begin), 0) : copyTo(fresh), length);
            Files.move(part, path, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            fresh.close();
            Files.deleteIfExists(part);
            throw e;
        }
        if (channel != null) {
            channel.close();
        }
        channel = fresh;
        size = length;
    }

    /** Copies everything but the bracket, behind which the next block's edge may lie. */
    private long copyTo(FileChannel fresh) throws IOException {
        long wanted = Math.min(at, size - END.length);
        try (FileChannel old = FileChannel.open(path, StandardOpenOption.READ)) {
            long copied = 0;
            while (copied < wanted) {
                copied += old.transferTo(copied, wanted - copied, fresh.position(copied));
            }
        }
        return wanted;
    }

    private static void fill(FileChannel fresh, long from, long length) throws IOException {
        byte[] blanks = new byte[BLOCK];
        Arrays.fill(blanks, (byte) ' ');
        long next = from;
        while (next < length - END.length) {
            int count = (int) Math.min(BLOCK, length - END.length - next);
            next = write(fresh, ByteBuffer.wrap(blanks, 0, count), next);
        }
        write(fresh, ByteBuffer.wrap(END), next);
    }
}
