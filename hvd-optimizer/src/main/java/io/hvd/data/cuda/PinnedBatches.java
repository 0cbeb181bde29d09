package io.hvd.data.cuda;

import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.cuda.CudaDevice;
import io.hvd.cuda.PinnedStage;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** A fixed number of pinned buffers, each of one batch, that go from hand to hand. Taken by workers. */
final class PinnedBatches<S> implements AutoCloseable {
    private final FieldOffsets offsets;
    private final BatchLayout<S> layout;
    private final List<PinnedStage> all = new ArrayList<>();
    private final BlockingQueue<PinnedStage> free = new LinkedBlockingQueue<>();

    PinnedBatches(CudaDevice cuda, FieldOffsets offsets, BatchLayout<S> layout, int count) {
        this.offsets = offsets;
        this.layout = layout;
        for (int i = 0; i < count; i++) {
            all.add(cuda.allocatePinned(Owner.DATA, offsets.bytes()));
        }
        free.addAll(all);
    }

    /** A batch in pinned memory; closing gives the memory to the next one. */
    record Filled(int size, PinnedStage memory, BlockingQueue<PinnedStage> home) implements AutoCloseable {
        @Override
        public void close() {
            home.add(memory);
        }
    }

    /** Writes samples side by side; waits for a buffer if all are in use. */
    Filled fill(List<S> samples) {
        PinnedStage memory = take();
        try {
            ByteBuffer bytes = memory.buffer();
            for (int i = 0; i < samples.size(); i++) {
                layout.write(samples.get(i), offsets.sample(bytes, i));
            }
            return new Filled(samples.size(), memory, free);
        } catch (RuntimeException | Error e) {
            free.add(memory);
            throw e;
        }
    }

    private PinnedStage take() {
        try {
            return free.take();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while all pinned buffers were in use", e);
        }
    }

    /** Nobody fills or copies any more. */
    @Override
    public void close() {
        all.forEach(PinnedStage::close);
    }
}
