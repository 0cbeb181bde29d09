package io.hvd.transport.tcp;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Memory for messages that come before anybody waits for them. A buffer has the least power of two bytes that are enough, so
 * that a rank cannot fill another one's memory with far more than it sends.
 */
final class EarlyBuffers {
    private static final int LEAST_BYTES = 64;
    private static final int MOST_KEPT_OF_A_SIZE = 64;

    /** Those that are free, by the binary logarithm of their size. */
    private final List<Deque<ByteBuffer>> free = IntStream.range(0, Integer.SIZE)
            .<Deque<ByteBuffer>>mapToObj(any -> new ArrayDeque<>(0))
            .toList();

    /** A buffer whose limit is the number of bytes. */
    ByteBuffer take(int bytes) {
        int power = power(bytes);
        ByteBuffer kept = free.get(power).poll();
        return (kept == null ? ByteBuffer.allocate(1 << power) : kept.clear()).limit(bytes);
    }

    /** The caller has read it. */
    void give(ByteBuffer buffer) {
        Deque<ByteBuffer> sameSize = free.get(power(buffer.capacity()));
        if (sameSize.size() < MOST_KEPT_OF_A_SIZE) {
            sameSize.push(buffer);
        }
    }

    private static int power(int bytes) {
        return Integer.SIZE - Integer.numberOfLeadingZeros(Math.max(bytes, LEAST_BYTES) - 1);
    }
}
