package io.hvd.net;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * Cuts the bytes of a connection into messages, each of which has its length in front, as four bytes. The memory grows
 * with what has arrived, not with what was announced. One thread uses it.
 */
final class FrameBuffer {
    static final int HEADER_BYTES = Integer.BYTES;

    private static final int FIRST_BYTES = 8192;
    /** The most bytes of one read: the JDK keeps native memory for the longest read of a thread. */
    private static final int MOST_AT_ONCE = 1 << 17;

    /** The bytes that have been read, from {@link #begin} to its position. */
    private ByteBuffer bytes = ByteBuffer.allocate(FIRST_BYTES);

    private int begin;

    /** The source of the bytes. */
    interface Source {
        /**
         * Reads some bytes into an array-backed buffer and returns their number: -1 at the end, 0 if there are none
         * now.
         */
        int read(ByteBuffer into) throws IOException;
    }

    /** Reads once from the source and returns what it returns. */
    int fill(Source source) throws IOException {
        makeRoom();
        bytes.limit(Math.min(bytes.capacity(), bytes.position() + MOST_AT_ONCE));
        int read = source.read(bytes);
        bytes.limit(bytes.capacity());
        return read;
    }

    /**
     * The next message, if all of it has arrived. It lies in this buffer's memory, so the next call of {@link #fill}
     * overwrites it.
     *
     * @throws IOException if the announced length is greater than {@code longest}, or negative
     */
    Optional<ByteBuffer> next(int longest) throws IOException {
        if (held() < HEADER_BYTES) {
            return Optional.empty();
        }
        int length = bytes.getInt(begin);
        if (length < 0 || length > longest) {
            throw new IOException(
                    "it announced a message of " + length + " bytes, expected 0 to " + longest + " bytes");
        }
        if (held() - HEADER_BYTES < length) {
            return Optional.empty();
        }
        ByteBuffer message = bytes.slice(begin + HEADER_BYTES, length);
        begin += HEADER_BYTES + length;
        return Optional.of(message);
    }

    /** Whether a part of a message has arrived, but not all of it. */
    boolean holdsAPart() {
        return held() > 0;
    }

    private int held() {
        return bytes.position() - begin;
    }

    private void makeRoom() {
        if (begin > 0) {
            bytes.flip().position(begin);
            bytes.compact();
            begin = 0;
        }
        if (!bytes.hasRemaining()) {
            long needed = (long) HEADER_BYTES + bytes.getInt(0);
            bytes = ByteBuffer.allocate((int) Math.min(needed, 2L * bytes.capacity()))
                    .put(bytes.flip());
        }
    }
}
