package io.hvd.backend.shm;

import io.hvd.backend.shm.Layout.Counter;
import io.hvd.spi.Activities;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Converter;
import io.hvd.tensor.FlatView;
import io.hvd.tensor.Reducer;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * Allreduce chunk by chunk, from the user's memory through a segment and back, known as reducescatter and allgather:
 * every rank reduces its slice of all stages into the result, from which all take the whole. While the others still
 * reduce a chunk, a rank packs the next. All ranks get the same bits, for each slice has one owner, who adds in the order
 * of the ranks.
 *
 * <p>Few bytes take one step instead: every rank adds up all stages for itself. With other hosts, every rank combines its
 * slice with the ranks at its place there before the others take it.
 */
final class SharedAllreduce {
    /** Up to here one more wait costs more than adding up everything oneself, or than a message for each rank. */
    private static final int FEW_BYTES = 8192;

    private final Rounds rounds;
    private final Segment segment;
    /** Null where all ranks are on this host. */
    private final Crossing across;

    private final Converter converter = new Converter();
    private final Reducer reducer = new Reducer();
    private final ByteBuffer own = ByteBuffer.allocateDirect(FEW_BYTES).order(ByteOrder.nativeOrder());

    /** @param across to the other hosts; null if there are none */
    SharedAllreduce(Rounds rounds, Crossing across) {
        this.rounds = rounds;
        this.segment = rounds.segment();
        this.across = across;
    }

    /** A range of a chunk's elements. */
    private record Slice(int first, int count) {}

    /** @return false if somebody has vetoed; nothing is written then */
    boolean run(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        FlatView source = new FlatView(inputs, how.wire(), converter);
        FlatView target = new FlatView(outputs, how.wire(), converter);
        boolean few = source.elements() * how.wire().bytes() <= FEW_BYTES;
        return few && across == null ? inOneStep(source, target, how) : inRounds(source, target, how);
    }

    private boolean inOneStep(FlatView source, FlatView target, Reduction how) {
        int count = (int) source.elements();
        pack(source, 0, count, how);
        long here = rounds.current();
        rounds.await(Counter.PACKED, here);
        if (segment.isVetoed(here)) {
            return false;
        }
        long begun = rounds.activities().begin();
        reducer.reduce(how.op(), how.wire(), segment.stages(here), 0, count, own);
        rounds.activities().end("SHM_ALLREDUCE", begun);
        unpack(target, 0, count, own, how);
        return true;
    }

    private boolean inRounds(FlatView source, FlatView target, Reduction how) {
        int chunk = chunk(how);
        long elements = source.elements();
        int count = (int) Math.min(chunk, elements);
        pack(source, 0, count, how);
        if (!agreed(count, how)) {
            return false;
        }
        for (long from = 0; from < elements; from += count) {
            long here = rounds.current();
            count = (int) Math.min(chunk, elements - from);
            if (from > 0) {
                rounds.await(Counter.PACKED, here);
                reduce(here, count, how);
            }
            int next = (int) Math.min(chunk, elements - from - count);
            if (next > 0) {
                pack(source, from + count, next, how);
            }
            rounds.await(Counter.REDUCED, here);
            unpack(target, from, count, segment.result(here), how);
        }
        return true;
    }

    private int chunk(Reduction how) {
        return segment.stageBytes() / how.wire().bytes();
    }

    /** The first chunk: as long as it is not known whether all agree, nothing is written and nothing packed. */
    private boolean agreed(int count, Reduction how) {
        long here = rounds.current();
        rounds.await(Counter.PACKED, here);
        if (segment.isVetoed(here)) {
            tellOthersOfVeto(count, how);
            return false;
        }
        if (across == null) {
            reduce(here, count, how);
            return true;
        }
        Slice mine = slice(count, how);
        combine(here, mine, how);
        if (crosses(mine) && !across.combineUnlessVetoed(segment.result(here), mine.first(), mine.count(), how)) {
            rounds.veto(here);
        }
        rounds.reduced(here);
        rounds.await(Counter.REDUCED, here);
        return !segment.isVetoed(here);
    }

    /**
     * Takes part in the allreduce into which the others go, so that it fails for all of them.
     *
     * @param elements of all its tensors
     */
    void veto(long elements, Reduction how) {
        rounds.next();
        rounds.veto(rounds.current());
        rounds.packed();
        rounds.await(Counter.PACKED, rounds.current());
        tellOthersOfVeto((int) Math.min(chunk(how), elements), how);
    }

    private void tellOthersOfVeto(int count, Reduction how) {
        if (across != null) {
            Slice mine = slice(count, how);
            if (crosses(mine)) {
                across.veto(mine.count(), how);
            }
            // A rank of this host may have heard of a veto from another one, and waits to tell it to this one.
            rounds.reduced(rounds.current());
        }
    }

    /** The first rank always does, so that there is somebody to ask where there is nothing to reduce. */
    private boolean crosses(Slice mine) {
        return mine.count() > 0 || segment.rank() == 0;
    }

    private Slice slice(int count, Reduction how) {
        boolean few = count * how.wire().bytes() <= FEW_BYTES;
        if (few) {
            return new Slice(0, segment.rank() == 0 ? count : 0);
        }
        int first = (int) ((long) count * segment.rank() / segment.ranks());
        int last = (int) ((long) count * (segment.rank() + 1) / segment.ranks());
        return new Slice(first, last - first);
    }

    private void reduce(long of, int count, Reduction how) {
        Slice mine = slice(count, how);
        combine(of, mine, how);
        if (across != null && mine.count() > 0) {
            across.combine(segment.result(of), mine.first(), mine.count(), how);
        }
        rounds.reduced(of);
    }

    private void combine(long of, Slice mine, Reduction how) {
        long begun = rounds.activities().begin();
        reducer.reduce(how.op(), how.wire(), segment.stages(of), mine.first(), mine.count(), segment.result(of));
        rounds.activities().end("SHM_ALLREDUCE", begun);
    }

    private void pack(FlatView source, long from, int count, Reduction how) {
        ByteBuffer stage = rounds.next();
        long begun = rounds.activities().begin();
        source.pack(from, count, stage, how.prescale());
        rounds.activities().end(Activities.COPY_IN, begun);
        rounds.packed();
    }

    private void unpack(FlatView target, long from, int count, ByteBuffer result, Reduction how) {
        long begun = rounds.activities().begin();
        target.unpack(from, count, result, how.postscale());
        rounds.activities().end(Activities.COPY_OUT, begun);
    }
}
