package io.hvd.data.mapped;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import java.util.zip.CRC32C;

/** Takes the records of a new file, one after the other, from one thread. */
public final class RecordWriter {
    /** With a segment of 2^30 bytes before it, a record ends within a mapping. */
    static final int MOST_RECORD_BYTES = (1 << 30) - 1;

    private static final int PIECE_BYTES = 1 << 20;

    private final FileChannel channel;
    private final ByteBuffer piece =
            BufferLedger.PROCESS.direct(Owner.DATA, PIECE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    private final CRC32C sum = new CRC32C();
    private int[] lengths = new int[1024];
    private int count;
    private long bytes;

    RecordWriter(FileChannel channel) throws IOException {
        this.channel = channel;
        channel.position(RecordHeader.BYTES);
    }

    /**
     * Adds what lies between the buffer's position and limit, and leaves the buffer at its limit. It may be used again at once.
     *
     * @throws IOException if the disk is full, or the record has 2^30 bytes or more
     */
    public void add(ByteBuffer record) throws IOException {
        int length = record.remaining();
        if (length > MOST_RECORD_BYTES) {
            throw new IOException(
                    "record " + count + " has " + length + " bytes, expected at most " + MOST_RECORD_BYTES);
        }
        if (count == lengths.length) {
            lengths = Arrays.copyOf(lengths, Math.multiplyExact(count, 2));
        }
        lengths[count++] = length;
        bytes += length;
        put(record);
    }

    /** Adds a record from an array. */
    public void add(byte[] record) throws IOException {
        add(ByteBuffer.wrap(record));
    }

    /** Writes the ends of records that differ in length, then the header. */
    void finish(String version) throws IOException {
        int shortest = Arrays.stream(lengths, 0, count).min().orElse(0);
        int longest = Arrays.stream(lengths, 0, count).max().orElse(0);
        RecordHeader header = new RecordHeader(version, count, bytes, shortest, longest, 0);
        if (!header.isUniform()) {
            writeEnds(header);
        }
        flush();
        channel.position(0);
        WholeFile.writeFully(
                channel, new RecordHeader(version, count, bytes, shortest, longest, (int) sum.getValue()).encode());
    }

    private void writeEnds(RecordHeader header) throws IOException {
        put(ByteBuffer.allocate((int) (header.endsAt() - RecordHeader.BYTES - bytes)));
        ByteBuffer number = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        long end = 0;
        for (int i = 0; i < count; i++) {
            end += lengths[i];
            put(number.clear().putLong(end).flip());
        }
    }

    private void put(ByteBuffer from) throws IOException {
        while (from.hasRemaining()) {
            if (!piece.hasRemaining()) {
                flush();
            }
            int run = Math.min(piece.remaining(), from.remaining());
            piece.put(piece.position(), from, from.position(), run);
            piece.position(piece.position() + run);
            from.position(from.position() + run);
        }
    }

    private void flush() throws IOException {
        piece.flip();
        sum.update(piece.duplicate());
        WholeFile.writeFully(channel, piece);
        piece.clear();
    }
}
