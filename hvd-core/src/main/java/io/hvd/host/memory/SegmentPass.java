package io.hvd.host.memory;

import io.hvd.host.memory.Places.Place;
import io.hvd.kernel.Converter;
import io.hvd.kernel.FlatView;
import io.hvd.kernel.Reducer;
import io.hvd.kernel.Scale;
import io.hvd.spi.Activities;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * The tensors of one allreduce on their way through a segment: a rank packs them, combines its slice, and unpacks the
 * result.
 */
final class SegmentPass {
    private final Rounds rounds;
    private final Segment segment;
    private final Reducer reducer;
    private final FlatView source;
    private final FlatView target;
    private final Reduction how;
    /** The type of the elements in the segment. */
    private final DType staged;
    /** The half type to whose numbers they are rounded there, see {@link #onOneHost}; null if to none. */
    private final DType grid;

    private final int fewBytes;
    /**
     * The scaling by the owner of a slice, whose result all ranks then copy. There is none where a step that every rank
     * does for itself comes before the scaling: a conversion, or the way back from a half type, to which every back end
     * rounds first.
     */
    private final Scale ownersScale;
    /** The scaling of what the owner has finished, by each rank on the way to its output. */
    private final Scale scaleOnTheWayOut;

    /**
     * The pass of tensors whose result also travels beyond the segment, in the type in which it lies there.
     *
     * @param fewBytes a chunk of at most so many bytes is not divided into slices
     */
    SegmentPass(
            Rounds rounds,
            Converter converter,
            Reducer reducer,
            List<Tensor> inputs,
            List<Tensor> outputs,
            Reduction how,
            int fewBytes) {
        this(rounds, new FlatView(inputs, how.wire(), converter), null, reducer, outputs, how, fewBytes);
    }

    private SegmentPass(
            Rounds rounds,
            FlatView source,
            DType grid,
            Reducer reducer,
            List<Tensor> outputs,
            Reduction how,
            int fewBytes) {
        this.rounds = rounds;
        this.segment = rounds.segment();
        this.reducer = reducer;
        this.source = source;
        this.target = source.of(outputs);
        this.how = how;
        this.staged = source.wire();
        this.grid = grid;
        this.fewBytes = fewBytes;
        boolean ownerScales = !how.wire().isHalf() && !target.converts();
        Scale scale = how.scale();
        this.ownersScale = ownerScales ? scale : Scale.ONE;
        this.scaleOnTheWayOut = ownerScales ? Scale.ONE : scale;
    }

    /**
     * The pass of tensors that go nowhere else. Where they are compressed to a half type, its numbers lie in the segment as float32: to
     * round them takes less time than to convert them to 16 bits and, once for every reader, back, and memory is fast. The
     * results have the same bits. A batch with tensors that are of a half type themselves lies there in that type.
     */
    static SegmentPass onOneHost(
            Rounds rounds,
            Converter converter,
            Reducer reducer,
            List<Tensor> inputs,
            List<Tensor> outputs,
            Reduction how,
            int fewBytes) {
        if (!how.wire().isHalf() || anyIsHalf(inputs)) {
            return new SegmentPass(rounds, converter, reducer, inputs, outputs, how, fewBytes);
        }
        FlatView rounded = FlatView.rounded(inputs, how.wire(), converter);
        return new SegmentPass(rounds, rounded, how.wire(), reducer, outputs, how, fewBytes);
    }

    private static boolean anyIsHalf(List<Tensor> tensors) {
        for (int i = 0; i < tensors.size(); i++) {
            if (tensors.get(i).dtype().isHalf()) {
                return true;
            }
        }
        return false;
    }

    /** This rank's slice of a chunk. */
    private Slice slice(int count) {
        return Slice.ofRank(segment.rank(), segment.ranks(), count, staged, fewBytes);
    }

    long elements() {
        return source.elements();
    }

    boolean isFew() {
        return elements() * staged.bytes() <= fewBytes;
    }

    /** Number of elements of the chunk that begins there; 0 at the end. */
    int chunk(long from) {
        return (int) Math.min(segment.stageBytes() / staged.bytes(), elements() - from);
    }

    /** Packs a chunk onto this rank's stage, in the next round. */
    void pack(long from, int count) {
        pack(from, count, Slice.NONE);
    }

    /**
     * Packs all of a chunk except this rank's own slice, which no other rank reads, and which {@link #finishOwn} takes
     * from the source.
     */
    void packForOthers(long from, int count) {
        pack(from, count, slice(count));
    }

    private void pack(long from, int count, Slice left) {
        ByteBuffer stage = rounds.next(count * staged.bytes());
        long begun = rounds.activities().begin();
        source.pack(from, left.first(), stage, how.prescale());
        source.pack(from + left.end(), count - left.end(), stage, left.end(), how.prescale());
        rounds.activities().end(Activities.COPY_IN, begun);
        rounds.packed();
    }

    /**
     * Combines this rank's slice of the stages of all ranks of its group. It reads its own part from the source, see
     * {@link #packForOthers}, and writes to the {@link #result} only.
     */
    void combineOwn(long round, long from, int count) {
        combine(place(round, count), slice(count), result(round, count), new Mine(from));
    }

    /** Combines this rank's slice where no other group adds to it, and also writes it to this rank's output. */
    void finishOwn(long round, long from, int count) {
        combine(place(round, count), slice(count), result(round, count), new MineFinished(from));
    }

    /** Combines the whole chunk, after {@link #pack} of all of it, and writes it to this rank's output only. */
    void finishAll(long round, long from, int count) {
        combine(place(round, count), new Slice(0, count), null, new MineFinished(from));
    }

    /** Combines the whole chunk, after {@link #pack} of all of it, into memory of this rank. */
    void combineAll(long round, long from, int count, ByteBuffer into) {
        combine(place(round, count), new Slice(0, count), into, new Mine(from));
    }

    /** The result of a round of so many elements, whose first element is the chunk's first. */
    ByteBuffer result(long round, int count) {
        return place(round, count).result();
    }

    private Place place(long round, int count) {
        return segment.place(round, count * staged.bytes());
    }

    private void combine(Place place, Slice mine, ByteBuffer into, Reducer.Own own) {
        long begun = rounds.activities().begin();
        reducer.reduce(how.op(), staged, place.stages(), mine.first(), mine.count(), into, own);
        rounds.activities().end("SHM_ALLREDUCE", begun);
    }

    private class Mine implements Reducer.Own {
        final long from;

        Mine(long from) {
            this.from = from;
        }

        @Override
        public int place() {
            return segment.rank();
        }

        @Override
        public void read(int first, int count, Object block) {
            source.read(from + first, count, block, how.prescale());
        }

        @Override
        public ByteBuffer direct(int first, int count) {
            return how.prescale() == 1 ? source.direct(from + first, count) : null;
        }

        @Override
        public boolean receives() {
            return false;
        }

        @Override
        public Scale scale() {
            return Scale.ONE;
        }

        @Override
        public DType grid() {
            return grid;
        }

        @Override
        public void write(int first, int count, Object block) {
            throw new IllegalStateException("the slice is not the result yet");
        }
    }

    private final class MineFinished extends Mine {
        MineFinished(long from) {
            super(from);
        }

        @Override
        public ByteBuffer direct(int first, int count) {
            boolean asItIs = how.prescale() == 1 && scaleOnTheWayOut.isOne();
            return asItIs ? source.shared(from + first, count, target) : null;
        }

        @Override
        public boolean receives() {
            return true;
        }

        @Override
        public Scale scale() {
            return ownersScale;
        }

        @Override
        public void write(int first, int count, Object block) {
            target.write(from + first, count, block, scaleOnTheWayOut);
        }
    }

    void unpack(long round, long from, int count) {
        unpack(from, count, result(round, count), Slice.NONE, how.scale());
    }

    /** Unpacks all elements from memory of this rank. */
    void unpack(ByteBuffer result, int count) {
        unpack(0, count, result, Slice.NONE, how.scale());
    }

    /** Unpacks the slices that the other ranks have finished; this rank's own slice is in the output already. */
    void unpackFinished(long round, long from, int count) {
        unpack(from, count, result(round, count), slice(count), scaleOnTheWayOut);
    }

    private void unpack(long from, int count, ByteBuffer result, Slice left, Scale scale) {
        long begun = rounds.activities().begin();
        target.unpack(from, left.first(), result, scale);
        target.unpack(from + left.end(), count - left.end(), result, left.end(), scale);
        rounds.activities().end(Activities.COPY_OUT, begun);
    }
}
