package io.hvd.collective;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

/** A pool of direct buffers of one size, made when none is free. Only the communication thread uses it. */
final class BufferPool {
    private final int bytes;
    private final Deque<ByteBuffer> free = new ArrayDeque<>();

    BufferPool(int bytes) {
        this.bytes = bytes;
    }

    ByteBuffer take() {
        return free.isEmpty() ? BufferLedger.PROCESS.direct(Owner.MPI, bytes) : free.pop();
    }

    void give(ByteBuffer buffer) {
        free.push(buffer);
    }
}
