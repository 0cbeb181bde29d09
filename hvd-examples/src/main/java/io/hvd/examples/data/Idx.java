package io.hvd.examples.data;

import io.hvd.file.RegularFile;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * The content of an IDX file of unsigned bytes, the format of MNIST's files, compressed with gzip or not.
 *
 * <pre>
 * offset  bytes
 *      0  4    magic, big-endian: 0x0000 08 dd: type 08 = unsigned byte, dd = number of dimensions
 *      4  4 dd the sizes, big-endian, the slowest first
 * 4+4 dd  ...  the values, row by row
 * </pre>
 */
record Idx(Path file, int[] sizes, byte[] values) {

    private static final int UNSIGNED_BYTES = 0x0800;
    private static final int GZIP_MAGIC = 0x1f8b;

    /** Reads a file of images, with three dimensions: count, rows, columns. */
    static Idx images(Path file) throws IOException {
        return read(file, 3);
    }

    /** Reads a file of labels, with one dimension: count. */
    static Idx labels(Path file) throws IOException {
        return read(file, 1);
    }

    int count() {
        return sizes[0];
    }

    private static Idx read(Path file, int dimensions) throws IOException {
        try (var in = new DataInputStream(unzipped(Files.newInputStream(RegularFile.at(file))))) {
            checkMagic(file, in.readInt(), UNSIGNED_BYTES | dimensions);
            int[] sizes = new int[dimensions];
            for (int i = 0; i < dimensions; i++) {
                sizes[i] = in.readInt();
            }
            return new Idx(file, sizes, values(file, in, length(file, sizes)));
        } catch (EOFException e) {
            throw new IOException(
                    file + ": the file ends early, inside its header or its gzip stream"
                            + RegularFile.inWords(file, "gzip", "IDX"),
                    e);
        } catch (ZipException e) {
            throw new IOException(file + ": the gzip stream is damaged: " + e.getMessage(), e);
        }
    }

    private static InputStream unzipped(InputStream raw) throws IOException {
        var in = new BufferedInputStream(raw);
        try {
            in.mark(2);
            int magic = in.read() << 8 | in.read();
            in.reset();
            return magic == GZIP_MAGIC ? new GZIPInputStream(in) : in;
        } catch (IOException e) {
            in.close();
            throw e;
        }
    }

    private static void checkMagic(Path file, int found, int expected) throws IOException {
        if (found != expected) {
            throw new IOException(String.format(
                    Locale.ROOT,
                    "%s: wrong magic number: found 0x%08x, expected 0x%08x%s",
                    file,
                    found,
                    expected,
                    RegularFile.inWords(file, "gzip", "IDX")));
        }
    }

    private static int length(Path file, int[] sizes) throws IOException {
        try {
            int length = 1;
            for (int size : sizes) {
                if (size < 0) {
                    throw new IOException(file + ": negative size in its header: " + Arrays.toString(sizes));
                }
                length = Math.multiplyExact(length, size);
            }
            return length;
        } catch (ArithmeticException e) {
            throw new IOException(file + ": sizes too large for one array: " + Arrays.toString(sizes), e);
        }
    }

    private static byte[] values(Path file, InputStream in, int expected) throws IOException {
        byte[] values = in.readNBytes(expected);
        if (values.length < expected) {
            throw new IOException(file + ": found " + values.length + " values, expected " + expected);
        }
        if (in.read() >= 0) {
            throw new IOException(file + ": found more values than the expected " + expected);
        }
        return values;
    }
}
