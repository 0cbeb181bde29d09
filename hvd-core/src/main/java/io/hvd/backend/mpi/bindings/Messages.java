package io.hvd.backend.mpi.bindings;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** How much goes in one message. */
final class Messages {
    /**
     * With its header less than the 64 KiB up to which Open MPI sends over TCP at once. From there on it first asks the
     * receiver, and both links stand still until that one has been on a core.
     */
    static final int BYTES = 63 << 10;

    private Messages() {}

    /** All of a buffer, in parts of so much; none of an empty one. */
    static List<ByteBuffer> cut(ByteBuffer buffer) {
        List<ByteBuffer> parts = new ArrayList<>();
        for (int from = 0; from < buffer.capacity(); from += BYTES) {
            parts.add(Blocks.part(buffer, from, Math.min(BYTES, buffer.capacity() - from)));
        }
        return parts;
    }

    /** Cuts as above, but gives one message even of an empty buffer: its receiver knows how far the other rank has come. */
    static List<ByteBuffer> cutOrEmpty(ByteBuffer buffer) {
        return buffer.capacity() == 0 ? List.of(buffer) : cut(buffer);
    }
}
