package io.hvd.collective;

import io.hvd.kernel.FlatView;
import io.hvd.spi.Activities;
import io.hvd.spi.Reduction;
import java.nio.ByteBuffer;

/** The data of an allreduce, which packs and unpacks it chunk by chunk. */
sealed interface AllreduceData {
    /** Returns a buffer with the elements {@code [from, from + count)} at its start. */
    ByteBuffer pack(long from, int count);

    /** Takes the reduced elements, and takes back the buffer. */
    void unpack(long from, int count, ByteBuffer buffer);

    /** Takes back the buffer and writes nothing. */
    void release(ByteBuffer buffer);

    /** Tensors that are scaled, converted and copied; the buffer has room for a {@link Veto} after them. */
    record Packed(FlatView source, FlatView target, Reduction how, BufferPool buffers, Activities activities)
            implements AllreduceData {
        @Override
        public ByteBuffer pack(long from, int count) {
            ByteBuffer buffer = buffers.take();
            long begun = activities.begin();
            source.pack(from, count, buffer, how.prescale());
            activities.end(Activities.COPY_IN, begun);
            return buffer;
        }

        @Override
        public void unpack(long from, int count, ByteBuffer buffer) {
            long begun = activities.begin();
            target.unpack(from, count, buffer, how.scale());
            activities.end(Activities.COPY_OUT, begun);
            release(buffer);
        }

        @Override
        public void release(ByteBuffer buffer) {
            buffers.give(buffer);
        }
    }

    /**
     * A direct buffer that is reduced in place.
     *
     * @param bytes number of bytes of an element
     */
    record InPlace(ByteBuffer memory, int bytes) implements AllreduceData {
        @Override
        public ByteBuffer pack(long from, int count) {
            return Blocks.part(memory, Math.toIntExact(from * bytes), count * bytes);
        }

        @Override
        public void unpack(long from, int count, ByteBuffer buffer) {
            // The result is in place already.
        }

        @Override
        public void release(ByteBuffer buffer) {
            // The buffer belongs to the user.
        }
    }
}
