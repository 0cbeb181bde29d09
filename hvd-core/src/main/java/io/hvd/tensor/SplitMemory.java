package io.hvd.tensor;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Several direct buffers, one behind the other, for memory of more bytes than one buffer can hold. Parts may have any
 * size, but no element may lie across a border.
 */
public final class SplitMemory implements HostMemory {
    /** The greatest length in bytes that a buffer can have and still end at the border of any element. */
    static final int LONGEST_PART = Integer.MAX_VALUE & -8;

    private final List<ByteBuffer> parts;
    /** The byte at which each part begins, and at last the byte behind all parts. */
    private final long[] starts;

    /** Uses the bytes between position and limit of each buffer. */
    public SplitMemory(List<ByteBuffer> buffers) {
        this.parts = buffers.stream()
                .map(buffer -> new BufferMemory(buffer).buffer())
                .toList();
        this.starts = new long[parts.size() + 1];
        for (int i = 0; i < parts.size(); i++) {
            starts[i + 1] = starts[i] + parts.get(i).capacity();
        }
    }

    /** New memory of zeros outside the heap. */
    static SplitMemory allocate(long bytes, int partBytes) {
        List<ByteBuffer> parts = new ArrayList<>();
        for (long from = 0; from < bytes; from += partBytes) {
            parts.add(BufferLedger.PROCESS.direct(Owner.TENSORS, (int) Math.min(partBytes, bytes - from)));
        }
        return new SplitMemory(parts);
    }

    @Override
    public long bytes() {
        return starts[parts.size()];
    }

    @Override
    public void read(DType type, long from, Object array, int at, int count) {
        forEachRun(
                type,
                from,
                count,
                (part, first, done, run) ->
                        Bulk.get(Bulk.view(part, type), type, Bulk.index(type, first), array, at + done, run));
    }

    @Override
    public void write(DType type, long from, Object array, int at, int count) {
        forEachRun(
                type,
                from,
                count,
                (part, first, done, run) ->
                        Bulk.put(Bulk.view(part, type), type, Bulk.index(type, first), array, at + done, run));
    }

    /** True if every part holds whole elements only. */
    boolean holdsWhole(DType type) {
        return parts.stream().allMatch(part -> part.capacity() % type.bytes() == 0);
    }

    /** Cuts a range of elements at the borders of the parts. */
    public void forEachRun(DType type, long from, int count, Run body) {
        long at = Math.multiplyExact(from, (long) type.bytes());
        Objects.checkFromIndexSize(at, (long) count * type.bytes(), bytes());
        int done = 0;
        for (int i = 0; done < count; i++) {
            if (at < starts[i + 1]) {
                int run = (int) Math.min(count - done, (starts[i + 1] - at) / type.bytes());
                body.visit(parts.get(i), (int) (at - starts[i]), done, run);
                done += run;
                at += (long) run * type.bytes();
            }
        }
    }

    /**
     * Receives elements that lie in one part: the first of them begins at byte {@code at} of the part, and is the
     * {@code done}-th of all.
     */
    public interface Run {
        /** Takes {@code run} elements of the part. */
        void visit(ByteBuffer part, int at, int done, int run);
    }
}
