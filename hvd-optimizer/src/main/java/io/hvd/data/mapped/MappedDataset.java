package io.hvd.data.mapped;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.TRUNCATE_EXISTING;
import static java.nio.file.StandardOpenOption.WRITE;

import io.hvd.HvdContext;
import io.hvd.data.Dataset;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.RegularFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;

/**
 * A data set of records in one file, which every rank of a host maps into its memory: the host holds one copy of it, in the
 * kernel's page cache, however many ranks there are. A sample is a record's bytes, of the same or of different lengths,
 * read-only and in the order of this machine; nothing is copied until somebody reads it, and only pages that are read
 * take memory.
 *
 * <pre>{@code
 * MappedDataset texts = MappedDataset.shared(hvd, Path.of("/dev/shm/texts.hvd"), "corpus 7, tokenizer 2", records -> {
 *     for (String line : Files.readAllLines(corpus)) {
 *         records.add(tokens(line));
 *     }
 * });
 * }</pre>
 *
 * <p><b>Files.</b> A file is replaced as a whole and never changed in place, so a job that has mapped the one before goes on
 * with it. Nobody else may write into it either: the JVM ends a thread that reads where a file was cut off.
 *
 * <p><b>Threads.</b> Any thread may read any record at any time, as the workers of a loader do.
 */
public final class MappedDataset implements Dataset<ByteBuffer> {
    /** Bytes of a mapping, without the part that reaches into the next one. */
    static final long SEGMENT_BYTES = 1L << 30;

    private final RecordHeader header;
    private final MappedBytes records;
    /** Null if all records have the same length. */
    private final MappedBytes ends;

    private MappedDataset(RecordHeader header, MappedBytes records, MappedBytes ends) {
        this.header = header;
        this.records = records;
        this.ends = ends;
    }

    /**
     * Opens the data set on all ranks; a collective. On each host the rank with local rank 0 looks at the file. It is built if
     * there is none, or if the one that is there is of another version or damaged; the other ranks wait. If building is
     * interrupted or fails, there is the file of before or none.
     *
     * <p>The rank that looks reads the whole file, to compare its checksum; this brings it into the page cache.
     *
     * @param file on each host, in a folder that is there, such as on a local disk or, to hold it in memory, in
     *     {@code /dev/shm}. A file system that hosts share is allowed
     * @param version in words, what the records are made of: a file of another version is built anew. The same on every rank
     * @param source makes the records where the file is missing
     * @throws HvdException with {@link ErrorId#BAD_DATA_SET} on all ranks if one cannot build or open its file; the message
     *     names the ranks, their hosts and what is wrong
     */
    public static MappedDataset shared(HvdContext hvd, Path file, String version, RecordSource source) {
        return SharedFile.open(hvd, file, requireShort(version), source);
    }

    /**
     * Opens a file that is there, without reading its records.
     *
     * @throws HvdException with {@link ErrorId#BAD_DATA_SET} if it is missing or is no whole file of records
     */
    public static MappedDataset open(Path file) {
        try {
            return map(file, SEGMENT_BYTES);
        } catch (IOException e) {
            throw new HvdException(ErrorId.BAD_DATA_SET, file + " cannot be mapped: " + SharedFile.words(e), e);
        }
    }

    /**
     * Builds a data set for this rank alone, in a file that is of use only as long as this process runs: nothing forces it to the
     * disk. A mapping outlives its file, so the file may be deleted at any time after this.
     *
     * @param file is replaced; if the records cannot be made, it is deleted
     * @param version in words, what the records are made of
     * @throws HvdException with {@link ErrorId#BAD_DATA_SET} if it cannot be written, such as on a full disk
     * @throws Exception what the source throws
     */
    public static MappedDataset temporary(Path file, String version, RecordSource source) throws Exception {
        requireShort(version);
        boolean made = false;
        try {
            write(file, version, source);
            MappedDataset records = open(file);
            made = true;
            return records;
        } finally {
            if (!made) {
                Files.deleteIfExists(file);
            }
        }
    }

    private static void write(Path file, String version, RecordSource source) throws Exception {
        try (FileChannel channel = FileChannel.open(file, CREATE, TRUNCATE_EXISTING, WRITE)) {
            RecordWriter records = new RecordWriter(channel);
            source.writeTo(records);
            records.finish(version);
        } catch (IOException e) {
            throw new HvdException(ErrorId.BAD_DATA_SET, file + " cannot be written: " + SharedFile.words(e), e);
        }
    }

    /** @param segmentBytes a multiple of 8 */
    static MappedDataset map(Path file, long segmentBytes) throws IOException {
        try (FileChannel channel = FileChannel.open(RegularFile.at(file))) {
            RecordHeader header = RecordHeader.read(channel);
            MappedBytes records =
                    new MappedBytes(channel, RecordHeader.BYTES, header.bytes(), segmentBytes, header.longest());
            long endBytes = (long) header.count() * Long.BYTES;
            MappedBytes ends =
                    header.isUniform() ? null : new MappedBytes(channel, header.endsAt(), endBytes, segmentBytes, 0);
            return new MappedDataset(header, records, ends);
        }
    }

    /** The file's word about its source. */
    public String version() {
        return header.version();
    }

    /** Bytes of all records. */
    public long bytes() {
        return header.bytes();
    }

    @Override
    public int size() {
        return header.count();
    }

    /**
     * A record's bytes, not a copy: read-only, from position 0 to its length, in the order of this machine. It keeps the
     * mapping alive.
     *
     * @throws IndexOutOfBoundsException if there is no such record
     */
    @Override
    public ByteBuffer get(int index) {
        Objects.checkIndex(index, size());
        if (ends == null) {
            return records.slice((long) index * header.longest(), header.longest());
        }
        long from = index == 0 ? 0 : ends.number((index - 1L) * Long.BYTES);
        return records.slice(from, (int) (ends.number((long) index * Long.BYTES) - from));
    }

    private static String requireShort(String version) {
        int bytes = version.getBytes(java.nio.charset.StandardCharsets.UTF_8).length;
        if (bytes > RecordHeader.MOST_VERSION_BYTES) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the version of a mapped data set has " + bytes + " bytes, expected at most "
                            + RecordHeader.MOST_VERSION_BYTES);
        }
        return version;
    }
}
