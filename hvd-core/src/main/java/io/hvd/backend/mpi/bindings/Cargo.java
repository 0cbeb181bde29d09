package io.hvd.backend.mpi.bindings;

import io.hvd.spi.Activities;
import io.hvd.spi.Reduction;
import io.hvd.tensor.FlatView;
import java.nio.ByteBuffer;

/** What an allreduce carries, taken aboard and put down chunk by chunk. */
sealed interface Cargo {
    /** Elements {@code [from, from + count)} at the start of a buffer. */
    ByteBuffer load(long from, int count);

    /** They are reduced; the buffer goes back. */
    void unload(long from, int count, ByteBuffer buffer);

    /** The buffer goes back, and nothing is written. */
    void discard(ByteBuffer buffer);

    /** Tensors that are scaled, converted and copied; there is room for a {@link Veto} behind them. */
    record Packed(FlatView source, FlatView target, Reduction how, BufferPool buffers, Activities activities)
            implements Cargo {
        @Override
        public ByteBuffer load(long from, int count) {
            ByteBuffer buffer = buffers.take();
            long begun = activities.begin();
            source.pack(from, count, buffer, how.prescale());
            activities.end(Activities.COPY_IN, begun);
            return buffer;
        }

        @Override
        public void unload(long from, int count, ByteBuffer buffer) {
            long begun = activities.begin();
            target.unpack(from, count, buffer, how.scale());
            activities.end(Activities.COPY_OUT, begun);
            discard(buffer);
        }

        @Override
        public void discard(ByteBuffer buffer) {
            buffers.give(buffer);
        }
    }

    /** A direct buffer that is reduced where it lies. @param bytes of an element */
    record InPlace(ByteBuffer memory, int bytes) implements Cargo {
        @Override
        public ByteBuffer load(long from, int count) {
            return Blocks.part(memory, Math.toIntExact(from * bytes), count * bytes);
        }

        @Override
        public void unload(long from, int count, ByteBuffer buffer) {
            // It lies there already.
        }

        @Override
        public void discard(ByteBuffer buffer) {
            // It is the user's.
        }
    }
}
