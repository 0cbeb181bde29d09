package io.hvd.backend.mpi.bindings;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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
        return free.isEmpty() ? ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder()) : free.pop();
    }

    void give(ByteBuffer buffer) {
        free.push(buffer);
    }
}
