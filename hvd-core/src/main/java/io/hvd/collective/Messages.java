package io.hvd.collective;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Cuts data into messages. */
final class Messages {
    /**
     * The bytes of a message, which with its header is below the 64 KiB up to which Open MPI sends over TCP at once.
     * From there on it first asks the receiver, and both links stand still until the receiver has been on a core.
     */
    static final int BYTES = 63 << 10;

    private Messages() {}

    /** Cuts a buffer into messages; an empty buffer gives none. */
    static List<ByteBuffer> cut(ByteBuffer buffer) {
        List<ByteBuffer> parts = new ArrayList<>();
        for (int from = 0; from < buffer.capacity(); from += BYTES) {
            parts.add(Blocks.part(buffer, from, Math.min(BYTES, buffer.capacity() - from)));
        }
        return parts;
    }

    /**
     * Cuts a buffer into messages, but gives one message even for an empty buffer, which tells its receiver how far the
     * other rank has come.
     */
    static List<ByteBuffer> cutOrEmpty(ByteBuffer buffer) {
        return buffer.capacity() == 0 ? List.of(buffer) : cut(buffer);
    }
}
