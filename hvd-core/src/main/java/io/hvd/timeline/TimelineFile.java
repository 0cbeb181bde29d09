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
 * A JSON array on disk that is valid at every moment, even if the process is killed between any two
 * instructions. A copy that is made meanwhile is valid too, unless it reads a page in the same
 * microsecond in which the page is written: file systems let a reader see half of a write.
 *
 * <p>The closing bracket stands after a run of blanks and does not move; events are written
 * over the blanks. One write stays within one block of the size of a memory page, which is written completely
 * even if the process is killed, and no event crosses the border of a block:
 *
 * <pre>
 * [ event, event, event   blanks up to the block's end | , event, event   blanks ... ]
 * </pre>
 *
 * When the blanks are used up, a longer file is made beside this one and replaces it by a rename.
 * One thread uses it.
 */
final class TimelineFile implements AutoCloseable {
    /** The size of the smallest memory page. */
    static final int BLOCK = 4096;

    private static final long FIRST_BYTES = 16 * BLOCK;
    private static final byte[] END = {'\n', ']', '\n'};

    private final Path path;
    private final byte[] begin;
    private FileChannel channel;
    private long size;
    /** The position at which the next event may begin. */
    private long at;

    private TimelineFile(Path path, byte[] begin) {
        this.path = path;
        this.begin = begin;
        this.at = begin.length;
    }

    /**
     * Makes the file, and replaces an older one.
     *
     * @param first the first event
     */
    static TimelineFile create(Path path, String first) throws IOException {
        if (Files.exists(path) && !Files.isRegularFile(path)) {
            throw new IOException(path + " is not a regular file");
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

    /** Removes the blanks and closes the file. */
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
        Files.deleteIfExists(part); // a file of an earlier run, or a link to another file
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

    /** Copies everything except the closing bracket; the border of the next block may be right after it. */
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
