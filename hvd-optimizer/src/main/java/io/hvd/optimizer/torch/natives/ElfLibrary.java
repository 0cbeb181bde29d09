package io.hvd.optimizer.torch.natives;

import io.hvd.file.RegularFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads which other libraries a shared library of Linux needs, from the dynamic section of its file (System V ABI,
 * "Program Loading and Dynamic Linking"). Nothing is loaded.
 */
final class ElfLibrary {
    private static final int MAGIC = 0x464C457F;
    private static final byte CLASS_64 = 2;
    private static final byte LITTLE_ENDIAN = 1;
    private static final int LOAD = 1;
    private static final int DYNAMIC = 2;
    private static final long NEEDED = 1;
    private static final long STRING_TABLE = 5;
    private static final int ENTRY_BYTES = 16;

    private final FileChannel file;
    private final Path path;
    private final List<Segment> segments = new ArrayList<>();

    private ElfLibrary(FileChannel file, Path path) throws IOException {
        this.file = file;
        this.path = path;
        ByteBuffer head = read(0, 64);
        if (head.getInt(0) != MAGIC || head.get(4) != CLASS_64 || head.get(5) != LITTLE_ENDIAN) {
            throw new IOException(path + " is not a 64-bit little-endian ELF file");
        }
        int size = Short.toUnsignedInt(head.getShort(54));
        for (int i = 0; i < Short.toUnsignedInt(head.getShort(56)); i++) {
            ByteBuffer entry = read(head.getLong(32) + (long) i * size, size);
            segments.add(new Segment(entry.getInt(0), entry.getLong(8), entry.getLong(16), entry.getLong(32)));
        }
    }

    /** A part of the file, and the address at which it lies once it is loaded. */
    private record Segment(int kind, long offset, long address, long bytes) {
        boolean holds(long wanted) {
            return kind == LOAD && wanted >= address && wanted < address + bytes;
        }
    }

    /** The names under which the library asks for others, such as {@code libc.so.6}, in its own order. */
    static List<String> needs(Path path) throws IOException {
        try (FileChannel file = FileChannel.open(RegularFile.at(path))) {
            return new ElfLibrary(file, path).needs();
        }
    }

    private List<String> needs() throws IOException {
        List<Long> names = new ArrayList<>();
        long strings = 0;
        for (Segment segment : segments) {
            if (segment.kind != DYNAMIC) {
                continue;
            }
            ByteBuffer entries = read(segment.offset, Math.toIntExact(segment.bytes));
            for (int at = 0; at + ENTRY_BYTES <= entries.limit(); at += ENTRY_BYTES) {
                if (entries.getLong(at) == NEEDED) {
                    names.add(entries.getLong(at + 8));
                } else if (entries.getLong(at) == STRING_TABLE) {
                    strings = inFile(entries.getLong(at + 8));
                }
            }
        }
        List<String> needs = new ArrayList<>();
        for (long name : names) {
            needs.add(text(strings + name));
        }
        return needs;
    }

    private long inFile(long address) throws IOException {
        for (Segment segment : segments) {
            if (segment.holds(address)) {
                return address - segment.address + segment.offset;
            }
        }
        throw new IOException(path + " has no segment for its address " + address);
    }

    private String text(long offset) throws IOException {
        ByteBuffer bytes = read(offset, (int) Math.min(256, file.size() - offset));
        int end = 0;
        while (end < bytes.limit() && bytes.get(end) != 0) {
            end++;
        }
        return new String(bytes.array(), 0, end, StandardCharsets.US_ASCII);
    }

    private ByteBuffer read(long offset, int bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
        while (buffer.hasRemaining()) {
            if (file.read(buffer, offset + buffer.position()) < 0) {
                throw new IOException(path + " ends at " + (offset + buffer.position()) + ", expected "
                        + (offset + bytes) + " bytes or more");
            }
        }
        return buffer.flip();
    }
}
