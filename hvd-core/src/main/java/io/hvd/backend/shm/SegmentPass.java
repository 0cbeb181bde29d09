package io.hvd.backend.shm;

import io.hvd.spi.Activities;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Converter;
import io.hvd.tensor.FlatView;
import io.hvd.tensor.Reducer;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/** The tensors of one allreduce on their way through a segment: packed, combined slice by slice, taken from the result. */
final class SegmentPass {
    /** Up to here one more wait costs more than adding up everything oneself, or than a message for each rank. */
    static final int FEW_BYTES = 8192;

    private final Rounds rounds;
    private final Segment segment;
    private final Reducer reducer;
    private final FlatView source;
    private final FlatView target;
    private final Reduction how;

    SegmentPass(
            Rounds rounds,
            Converter converter,
            Reducer reducer,
            List<Tensor> inputs,
            List<Tensor> outputs,
            Reduction how) {
        this.rounds = rounds;
        this.segment = rounds.segment();
        this.reducer = reducer;
        this.source = new FlatView(inputs, how.wire(), converter);
        this.target = new FlatView(outputs, how.wire(), converter);
        this.how = how;
    }

    /** A range of a chunk's elements. */
    record Slice(int first, int count) {}

    /** This rank's slice of a chunk; a chunk of few bytes is the first rank's. */
    static Slice slice(int count, Reduction how, Segment segment) {
        boolean few = count * how.wire().bytes() <= FEW_BYTES;
        if (few) {
            return new Slice(0, segment.rank() == 0 ? count : 0);
        }
        int first = (int) ((long) count * segment.rank() / segment.ranks());
        int last = (int) ((long) count * (segment.rank() + 1) / segment.ranks());
        return new Slice(first, last - first);
    }

    long elements() {
        return source.elements();
    }

    boolean isFew() {
        return elements() * how.wire().bytes() <= FEW_BYTES;
    }

    /** Elements of the chunk that begins there; 0 at the end. */
    int chunk(long from) {
        return (int) Math.min(segment.stageBytes() / how.wire().bytes(), elements() - from);
    }

    /** Onto this rank's stage, in the next round. */
    void pack(long from, int count) {
        ByteBuffer stage = rounds.next();
        long begun = rounds.activities().begin();
        source.pack(from, count, stage, how.prescale());
        rounds.activities().end(Activities.COPY_IN, begun);
        rounds.packed();
    }

    /** What all ranks of this host have packed there. */
    void combine(long round, Slice slice, ByteBuffer into) {
        long begun = rounds.activities().begin();
        reducer.reduce(how.op(), how.wire(), segment.stages(round), slice.first(), slice.count(), into);
        rounds.activities().end("SHM_ALLREDUCE", begun);
    }

    void unpack(long from, int count, ByteBuffer result) {
        long begun = rounds.activities().begin();
        target.unpack(from, count, result, how.postscale());
        rounds.activities().end(Activities.COPY_OUT, begun);
    }
}
