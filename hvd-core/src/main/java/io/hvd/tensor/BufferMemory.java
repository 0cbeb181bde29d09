package io.hvd.tensor;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A direct buffer, for instance an alias of LibTorch memory. */
public final class BufferMemory implements HostMemory {
    private final ByteBuffer buffer;
    /** The last typed view. Threads may set it at the same time, since any thread's view is as good as another's. */
    private View view;

    /** Uses the bytes between the buffer's position and limit. */
    public BufferMemory(ByteBuffer buffer) {
        if (!buffer.isDirect()) {
            throw new IllegalArgumentException("buffer is on the heap, expected a direct buffer or a Java array");
        }
        this.buffer = buffer.slice().order(ByteOrder.nativeOrder());
    }

    private record View(DType type, Buffer elements) {}

    /** The buffer, whose first byte is that of the first element; its byte order is native. */
    public ByteBuffer buffer() {
        return buffer;
    }

    @Override
    public long bytes() {
        return buffer.capacity();
    }

    @Override
    public void read(DType type, long from, Object array, int at, int count) {
        Bulk.get(elements(type), type, Math.toIntExact(from), array, at, count);
    }

    @Override
    public void write(DType type, long from, Object array, int at, int count) {
        Bulk.put(elements(type), type, Math.toIntExact(from), array, at, count);
    }

    private Buffer elements(DType type) {
        View last = view;
        if (last == null || last.type() != type) {
            last = new View(type, Bulk.view(buffer, type));
            view = last;
        }
        return last.elements();
    }
}
