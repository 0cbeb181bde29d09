package io.hvd.backend.shm;

import io.hvd.backend.shm.Layout.Counter;
import io.hvd.backend.shm.SegmentPass.Slice;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Converter;
import io.hvd.tensor.Reducer;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * Allreduce over several hosts: every rank combines its slice of a chunk in its host's segment, then with the ranks at its
 * place on the other hosts, before the others take it. While one chunk is under way between the hosts, the one before is
 * taken from the segment, the next one is packed and combined, and sets out too: the network is never left waiting.
 *
 * <p>A chunk lies in the segment from its packing on until it is unpacked, and there is room for two.
 */
final class CrossingAllreduce implements SegmentAllreduce {
    /** Up to here a message for each rank costs more than one for all. */
    private static final int FEW_BYTES = 8192;
    /** The first of several chunks goes alone, with the question whether all agree. */
    private static final int FIRST_BYTES = 16 << 10;

    private final Rounds rounds;
    private final Segment segment;
    private final Crossing across;
    private final Converter converter = new Converter();
    private final Reducer reducer;

    CrossingAllreduce(Rounds rounds, Reducer reducer, Crossing across) {
        this.rounds = rounds;
        this.reducer = reducer;
        this.segment = rounds.segment();
        this.across = across;
    }

    @Override
    public boolean run(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        SegmentPass pass = new SegmentPass(rounds, converter, reducer, inputs, outputs, how, FEW_BYTES);
        int first = first(pass.elements(), how);
        pass.packForOthers(0, first);
        if (!agreed(pass, first, how)) {
            return false;
        }
        pass.unpack(rounds.current(), 0, first);
        cross(pass, first, how);
        return true;
    }

    private int first(long elements, Reduction how) {
        int chunk = segment.stageBytes() / how.wire().bytes();
        return (int)
                (elements <= chunk
                        ? elements
                        : Math.min(chunk, FIRST_BYTES / how.wire().bytes()));
    }

    /** As long as it is not known whether all agree, nothing is written. */
    private boolean agreed(SegmentPass pass, int count, Reduction how) {
        long here = rounds.current();
        rounds.await(Counter.PACKED, here);
        if (segment.isVetoed(here)) {
            tellOthersOfVeto(count, how);
            return false;
        }
        Slice mine = slice(count, how);
        pass.combineOwn(here, 0, count);
        if (crosses(mine) && !across.combineUnlessVetoed(pass.result(here, count), mine.first(), mine.count(), how)) {
            rounds.veto(here);
        }
        rounds.reduced(here);
        rounds.await(Counter.REDUCED, here);
        return !segment.isVetoed(here);
    }

    @Override
    public void veto(long elements, Reduction how) {
        rounds.next();
        rounds.veto(rounds.current());
        rounds.packed();
        rounds.await(Counter.PACKED, rounds.current());
        tellOthersOfVeto(first(elements, how), how);
    }

    private void tellOthersOfVeto(int count, Reduction how) {
        Slice mine = slice(count, how);
        if (crosses(mine)) {
            across.veto(mine.count(), how);
        }
        // A rank of this host may have heard of a veto from another one, and waits to tell it to this one.
        rounds.reduced(rounds.current());
    }

    private Slice slice(int count, Reduction how) {
        return SegmentPass.slice(count, how.wire(), segment, FEW_BYTES);
    }

    /** The first rank always does, so that there is somebody to ask where there is nothing to reduce. */
    private boolean crosses(Slice mine) {
        return mine.count() > 0 || segment.rank() == 0;
    }

    /** A chunk between the hosts. */
    private record UnderWay(long round, long from, int count, Completion crossing) {}

    private void cross(SegmentPass pass, long start, Reduction how) {
        long from = start;
        UnderWay before = null;
        for (int count = pass.chunk(from); count > 0; count = pass.chunk(from)) {
            pass.packForOthers(from, count);
            UnderWay now = setOut(pass, from, count, how);
            if (before != null) {
                arrive(pass, before);
            }
            before = now;
            from += count;
        }
        if (before != null) {
            arrive(pass, before);
        }
    }

    private UnderWay setOut(SegmentPass pass, long from, int count, Reduction how) {
        long here = rounds.current();
        rounds.await(Counter.PACKED, here);
        Slice mine = slice(count, how);
        pass.combineOwn(here, from, count);
        return new UnderWay(here, from, count, across.begin(pass.result(here, count), mine.first(), mine.count(), how));
    }

    private void arrive(SegmentPass pass, UnderWay chunk) {
        across.await(chunk.crossing());
        rounds.reduced(chunk.round());
        rounds.await(Counter.REDUCED, chunk.round());
        pass.unpack(chunk.round(), chunk.from(), chunk.count());
    }
}
