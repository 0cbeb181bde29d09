package io.hvd.tensor;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A direct buffer, for instance an alias of LibTorch memory.
 *
 * @param buffer starts at the first element; in native byte order
 */
public record BufferMemory(ByteBuffer buffer) implements HostMemory {
    /** Takes what lies between the buffer's position and limit. */
    public BufferMemory(ByteBuffer buffer) {
        if (!buffer.isDirect()) {
            throw new IllegalArgumentException("buffer is on the heap, expected a direct buffer or a Java array");
        }
        this.buffer = buffer.slice().order(ByteOrder.nativeOrder());
    }

    @Override
    public long bytes() {
        return buffer.capacity();
    }

    @Override
    public void read(DType type, long from, Object array, int at, int count) {
        Bulk.get(buffer, type, byteIndex(type, from), array, at, count);
    }

    @Override
    public void write(DType type, long from, Object array, int at, int count) {
        Bulk.put(buffer, type, byteIndex(type, from), array, at, count);
    }

    private static int byteIndex(DType type, long from) {
        return Math.toIntExact(Math.multiplyExact(from, (long) type.bytes()));
    }
}
