package io.hvd.collective;

import io.hvd.spi.Transfers;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Cuts data into messages. */
final class Messages {
    /** The bytes of a message, which no transport answers with a question. */
    static final int BYTES = Transfers.UNASKED_BYTES;

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
