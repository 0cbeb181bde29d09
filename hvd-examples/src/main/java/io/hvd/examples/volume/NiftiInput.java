package io.hvd.examples.volume;

import io.hvd.file.RegularFile;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/** The bytes of a file, decompressed if its first bytes say that it is compressed. Every failure names the file and the byte. */
final class NiftiInput implements AutoCloseable {
    static final int PIECE = 1 << 16;

    private static final int GZIP_MAGIC = 0x1f8b;

    private final Path file;
    private final InputStream in;
    private final boolean packed;
    private long at;

    private NiftiInput(Path file, InputStream in, boolean packed) {
        this.file = file;
        this.in = in;
        this.packed = packed;
    }

    static NiftiInput open(Path file) throws IOException {
        InputStream raw = new BufferedInputStream(Files.newInputStream(RegularFile.at(file)), PIECE);
        try {
            raw.mark(2);
            boolean packed = (raw.read() << 8 | raw.read()) == GZIP_MAGIC;
            raw.reset();
            return new NiftiInput(file, packed ? new GZIPInputStream(raw, PIECE) : raw, packed);
        } catch (EOFException e) {
            raw.close();
            throw endsEarly(file, 0, "a header of gzip");
        } catch (IOException e) {
            raw.close();
            throw named(file, 0, e);
        }
    }

    /** Refuses a file that is too short, before room is made for what it claims to hold; one that is compressed shows it later. */
    void requireLength(long end, String what) throws IOException {
        if (!packed && Files.size(file) < end) {
            throw endsEarly(file, Files.size(file), what);
        }
    }

    /** Reads the next bytes. @param what words for what they belong to */
    void fill(byte[] bytes, int count, String what) throws IOException {
        try {
            for (int found = 0, more; found < count; found += more, at += more) {
                more = in.read(bytes, found, count - found);
                if (more < 0) {
                    throw endsEarly(file, at, what);
                }
            }
        } catch (EOFException e) {
            throw endsEarly(file, at, what);
        } catch (ZipException e) {
            throw named(file, at, e);
        }
    }

    void skipTo(long place, String what) throws IOException {
        byte[] piece = new byte[PIECE];
        while (at < place) {
            fill(piece, (int) Math.min(PIECE, place - at), what);
        }
    }

    private static IOException endsEarly(Path file, long found, String what) {
        return new FileSystemException(
                file.toString(),
                null,
                "the file ends after " + found + " bytes (decompressed), expected " + what
                        + RegularFile.inWords(file, "gzip", "NIfTI"));
    }

    private static IOException named(Path file, long at, IOException e) {
        var named = new FileSystemException(
                file.toString(), null, "it cannot be decompressed after byte " + at + ": " + e.getMessage());
        named.initCause(e);
        return named;
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
