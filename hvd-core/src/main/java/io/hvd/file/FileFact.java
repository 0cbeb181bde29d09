package io.hvd.file;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HexFormat;
import java.util.zip.CRC32;

/**
 * A file as it is now, in one line, by which a later process sees whether something that was made of it still fits. Size and
 * time of change do not tell that: a build that is reproducible gives every file the same time, and a constant that is changed
 * leaves a jar's size as it was. So the line has a checksum too, of what is read in a fraction of a millisecond:
 *
 * <ul>
 *   <li>of a zip file or jar its directory, which has the name, the size and the CRC-32 of every entry, stored or compressed,
 *       whatever the release or the inner jar it belongs to;
 *   <li>of any other file its first 64 KiB: a text as a whole, and a native library with its build ID.
 * </ul>
 *
 * <p>This is protection from accidents, not from people: one of four billion changes goes unseen. Whoever can write these files
 * can have their code run anyway.
 */
public final class FileFact {
    private static final int HEAD = 1 << 16;
    /** The most that the JVM reads without a block of memory from the C library. */
    private static final int PIECE = 1 << 13;

    private static final int END_RECORD = 22;
    private static final int LONGEST_COMMENT = 0xffff;
    private static final int END_SIGNATURE = 0x06054b50;
    private static final int LONG_LOCATOR = 20;
    private static final int LONG_LOCATOR_SIGNATURE = 0x07064b50;
    private static final int LONG_END_SIGNATURE = 0x06064b50;
    private static final long IN_LONG_RECORD = 0xffffffffL;
    /** The directory of a jar with a million entries; a longer one is none. */
    private static final long LONGEST_DIRECTORY = 1 << 28;

    private FileFact() {}

    /** Size, checksum, milliseconds of the last change, and path. A folder and a file that is not there have lines too. */
    public static String of(Path file) {
        return state(file) + " " + file;
    }

    /** Whether such a line still says what is there. */
    public static boolean holds(String line) {
        String[] words = line.split(" ", 4);
        return words.length == 4 && line.equals(of(Path.of(words[3])));
    }

    private static String state(Path file) {
        try {
            BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
            return now.isRegularFile()
                    ? content(file) + " " + now.lastModifiedTime().toMillis()
                    : "0 folder 0";
        } catch (IOException e) {
            return "0 absent 0";
        }
    }

    /** Size and checksum alone, which are the same for a copy elsewhere or of another time. */
    public static String content(Path file) throws IOException {
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "r")) {
            long size = open.length();
            return size + " " + HexFormat.of().toHexDigits((int) checksum(open, size));
        }
    }

    private static long checksum(RandomAccessFile file, long size) throws IOException {
        byte[] tail = read(file, Math.max(0, size - END_RECORD - LONG_LOCATOR), size);
        int end = endRecord(tail);
        if (end < 0 && size > tail.length && isZip(file)) {
            tail = read(file, Math.max(0, size - END_RECORD - LONG_LOCATOR - LONGEST_COMMENT), size);
            end = endRecord(tail);
        }
        long from = end < 0 ? -1 : directory(file, tail, end, size - tail.length);
        return from < 0 ? checksum(file, 0, Math.min(size, HEAD)) : checksum(file, from, size);
    }

    /** The CRC-32 of the bytes from one place to another, as far as they are there. */
    private static long checksum(RandomAccessFile file, long from, long to) throws IOException {
        var checksum = new CRC32();
        byte[] piece = new byte[PIECE];
        file.seek(from);
        long left = to - from;
        for (int more = 0; more >= 0 && left > 0; left -= Math.max(more, 0)) {
            more = file.read(piece, 0, (int) Math.min(piece.length, left));
            checksum.update(piece, 0, Math.max(more, 0));
        }
        return checksum.getValue();
    }

    private static boolean isZip(RandomAccessFile file) throws IOException {
        byte[] begin = read(file, 0, 2);
        return begin[0] == 'P' && begin[1] == 'K';
    }

    /** Where the record at the end of a zip file begins, behind which there is a comment at most; negative for another file. */
    private static int endRecord(byte[] tail) {
        for (int at = tail.length - END_RECORD; at >= 0; at--) {
            if (word(tail, at) == END_SIGNATURE && word(tail, at + 18) >>> 16 == tail.length - at - END_RECORD) {
                return at;
            }
        }
        return -1;
    }

    /** Where the directory begins: before the record at the end, or before the longer one that stands before that. */
    private static long directory(RandomAccessFile file, byte[] tail, int end, long tailAt) throws IOException {
        long bytes = word(tail, end + 12) & IN_LONG_RECORD;
        long before = tailAt + end;
        boolean isLong = bytes == IN_LONG_RECORD || (word(tail, end + 16) & IN_LONG_RECORD) == IN_LONG_RECORD;
        if (isLong && end >= LONG_LOCATOR && word(tail, end - LONG_LOCATOR) == LONG_LOCATOR_SIGNATURE) {
            before = quad(tail, end - LONG_LOCATOR + 8);
            byte[] record = before < 0 || before > tailAt + end ? new byte[0] : read(file, before, before + 56);
            if (record.length < 56 || word(record, 0) != LONG_END_SIGNATURE) {
                return -1;
            }
            bytes = quad(record, 40);
        }
        return bytes < 0 || bytes > Math.min(before, LONGEST_DIRECTORY) ? -1 : before - bytes;
    }

    /** The bytes from one place to another, as far as the file has them. */
    private static byte[] read(RandomAccessFile file, long from, long to) throws IOException {
        byte[] bytes = new byte[(int) (to - from)];
        file.seek(from);
        int filled = 0;
        for (int more = 0; more >= 0 && filled < bytes.length; filled += Math.max(more, 0)) {
            more = file.read(bytes, filled, bytes.length - filled);
        }
        return bytes;
    }

    private static int word(byte[] bytes, int at) {
        return bytes[at] & 0xff | (bytes[at + 1] & 0xff) << 8 | (bytes[at + 2] & 0xff) << 16 | bytes[at + 3] << 24;
    }

    private static long quad(byte[] bytes, int at) {
        return word(bytes, at) & 0xffffffffL | (long) word(bytes, at + 4) << 32;
    }
}
