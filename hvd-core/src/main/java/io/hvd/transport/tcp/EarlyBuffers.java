package io.hvd.transport.tcp;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

/** Memory for messages that come before anybody waits for them, most of which have the size of a message of the collectives. */
final class EarlyBuffers {
    private static final int BYTES = 64 << 10;
    private static final int MOST_KEPT = 64;

    private final Deque<ByteBuffer> free = new ArrayDeque<>();

    /** A buffer whose limit is the number of bytes. */
    ByteBuffer take(int bytes) {
        if (bytes > BYTES) {
            return ByteBuffer.allocate(bytes);
        }
        ByteBuffer kept = free.poll();
        return kept == null
                ? ByteBuffer.allocate(BYTES).limit(bytes)
                : kept.clear().limit(bytes);
    }

    /** The caller has read it. */
    void give(ByteBuffer buffer) {
        if (buffer.capacity() == BYTES && free.size() < MOST_KEPT) {
            free.push(buffer);
        }
    }
}
