package io.hvd.data.mapped;

import io.hvd.file.RegularFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/**
 * The first page of a file of records. All numbers are little-endian; behind the page come the records without gaps, and if
 * they differ in length, from the next multiple of 8 on, the place at which each ends:
 *
 * <pre>
 * "hvdrecs1"  records  bytes of all  shortest  longest  CRC-32C of records and ends  length of the version, version ... CRC-32C
 * 0           8        16            24        32       40                           44      48                         4092
 * </pre>
 *
 * @param version in the user's words, what is in the file
 * @param count number of records
 * @param bytes of all records
 * @param shortest bytes of a record
 * @param longest bytes of a record
 * @param sum CRC-32C of everything behind the page
 */
record RecordHeader(String version, int count, long bytes, int shortest, int longest, int sum) {
    static final int BYTES = 4096;
    static final int MOST_VERSION_BYTES = 4000;

    /** The letters "hvdrecs1", the last of which counts the formats. */
    private static final long MAGIC = 0x3173636572647668L;

    private static final int VERSION_AT = 48;
    private static final int SUM_AT = BYTES - Integer.BYTES;

    boolean isUniform() {
        return shortest == longest;
    }

    long endsAt() {
        return BYTES + (bytes + Long.BYTES - 1) / Long.BYTES * Long.BYTES;
    }

    long fileBytes() {
        return isUniform() ? BYTES + bytes : endsAt() + (long) count * Long.BYTES;
    }

    ByteBuffer encode() {
        byte[] words = version.getBytes(StandardCharsets.UTF_8);
        ByteBuffer page = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
        page.putLong(MAGIC).putLong(count).putLong(bytes).putLong(shortest).putLong(longest);
        page.putInt(sum).putInt(words.length).put(words);
        return page.putInt(SUM_AT, sumOf(page)).rewind();
    }

    /** @throws IOException if it is no whole file of records; the message says what was found and expected */
    static RecordHeader read(FileChannel channel) throws IOException {
        ByteBuffer page = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
        while (page.hasRemaining() && channel.read(page, page.position()) >= 0) {
            // goes on until the page is full or the file ends
        }
        if (page.hasRemaining() || page.getLong(0) != MAGIC || page.getInt(SUM_AT) != sumOf(page)) {
            throw new IOException("its first " + BYTES + " bytes are not the header of a file of records"
                    + RegularFile.recognise(channel).map(what -> "; it " + what).orElse(""));
        }
        RecordHeader header = decode(page);
        if (channel.size() != header.fileBytes()) {
            throw new IOException("it has " + channel.size() + " bytes, expected " + header.fileBytes());
        }
        return header;
    }

    private static RecordHeader decode(ByteBuffer page) {
        byte[] words = new byte[page.getInt(VERSION_AT - Integer.BYTES)];
        page.get(VERSION_AT, words);
        return new RecordHeader(
                new String(words, StandardCharsets.UTF_8),
                (int) page.getLong(8),
                page.getLong(16),
                (int) page.getLong(24),
                (int) page.getLong(32),
                page.getInt(40));
    }

    private static int sumOf(ByteBuffer page) {
        CRC32C sum = new CRC32C();
        sum.update(page.array(), 0, SUM_AT);
        return (int) sum.getValue();
    }
}
