package io.hvd.transport.mpi;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads Open MPI's version out of the file of libmpi, so that a jar of another version is never loaded. */
final class LibraryVersion {
    /** The release as libmpi contains it, a string of its own such as {@code v4.1.4} or {@code v5.0.7}. */
    private static final Pattern RELEASE = Pattern.compile("\0v(\\d+\\.\\d+\\.\\d+(?:(?:rc|a|b)\\d+)?)\0");

    private static final String START = "\0v";

    private LibraryVersion() {}

    /**
     * Searches the library for the fixed start only, and tries the pattern only there: the file has megabytes, and each rank
     * does this before it can start MPI.
     */
    private static Optional<String> find(String library) {
        for (int at = library.indexOf(START); at >= 0; at = library.indexOf(START, at + 1)) {
            Matcher release = RELEASE.matcher(library).region(at, library.length());
            if (release.lookingAt()) {
                return Optional.of(release.group(1));
            }
        }
        return Optional.empty();
    }

    /** Looks at the constants first, a few kilobytes of the file; where it finds nothing there, at the whole file. */
    static Optional<String> read(Path library) {
        try (FileChannel file = FileChannel.open(library)) {
            for (Section constants : Section.constants(file)) {
                Optional<String> release = find(constants.text(file));
                if (release.isPresent()) {
                    return release;
                }
            }
            return find(new Section(0, file.size()).text(file));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** A part of a file. */
    private record Section(long begin, long bytes) {
        /** The only kind of ELF that this class knows: 64 bits, little-endian. */
        private static final int MAGIC = 0x464c457f;

        private static final int KIND = 0x0102;
        private static final int HEADER_BYTES = 64;
        private static final int ENTRY_BYTES = 64;
        private static final int MOST = 1000;
        private static final int PROGRAM_DATA = 1;
        /** Among the flags of memory: in memory, but neither written nor executed. */
        private static final long ACCESS = 0b111;

        private static final long READ_ONLY = 0b010;

        /** The sections of an ELF library with constants, as .rodata; none if the file has another form. */
        static List<Section> constants(FileChannel file) throws IOException {
            List<Section> found = new ArrayList<>();
            if (file.size() < HEADER_BYTES) {
                return found;
            }
            ByteBuffer header = new Section(0, HEADER_BYTES).bytes(file);
            long table = header.getLong(40);
            int entries = header.getShort(60);
            boolean known = header.getInt(0) == MAGIC
                    && header.getShort(4) == KIND
                    && header.getShort(58) == ENTRY_BYTES
                    && entries >= 0
                    && entries <= MOST
                    && isInside(file, table, (long) entries * ENTRY_BYTES);
            if (!known) {
                return found;
            }
            ByteBuffer rows = new Section(table, (long) entries * ENTRY_BYTES).bytes(file);
            for (int row = 0; row < rows.capacity(); row += ENTRY_BYTES) {
                long begin = rows.getLong(row + 24);
                long bytes = rows.getLong(row + 32);
                boolean constant =
                        rows.getInt(row + 4) == PROGRAM_DATA && (rows.getLong(row + 8) & ACCESS) == READ_ONLY;
                if (constant && isInside(file, begin, bytes)) {
                    found.add(new Section(begin, bytes));
                }
            }
            return found;
        }

        private static boolean isInside(FileChannel file, long begin, long bytes) throws IOException {
            return begin >= 0 && bytes >= 0 && begin <= file.size() && bytes <= file.size() - begin;
        }

        String text(FileChannel file) throws IOException {
            return new String(bytes(file).array(), StandardCharsets.ISO_8859_1);
        }

        private ByteBuffer bytes(FileChannel file) throws IOException {
            ByteBuffer all = ByteBuffer.allocate(Math.toIntExact(bytes)).order(ByteOrder.LITTLE_ENDIAN);
            while (all.hasRemaining() && file.read(all, begin + all.position()) >= 0) {
                // The loop reads until the buffer is full or the file ends.
            }
            return all;
        }
    }
}
