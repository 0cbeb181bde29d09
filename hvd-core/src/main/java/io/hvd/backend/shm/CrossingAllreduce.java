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
 * Allreduce over several hosts. Every rank combines its slice of a chunk in its host's segment, and then with the ranks
 * at its place on the other hosts, before the other ranks of its host copy it. While one chunk is under way between the
 * hosts, the ranks unpack the chunk before it, and pack, combine and send the next one, so that the network always has
 * work.
 *
 * <p>A chunk occupies the segment from its packing until it is unpacked, and there is room for two.
 */
final class CrossingAllreduce implements SegmentAllreduce {
    /** Up to this size, one message for each rank costs more than one for all ranks. */
    private static final int FEW_BYTES = 8192;
    /** The size of the first of several chunks, which goes alone and carries the question whether all ranks agree. */
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

    /** Asks whether all ranks agree; until this is known, no output is written. */
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
        // A rank of this host may have received a veto from another host, and waits to tell it to this rank.
        rounds.reduced(rounds.current());
    }

    private Slice slice(int count, Reduction how) {
        return SegmentPass.slice(count, how.wire(), segment, FEW_BYTES);
    }

    /**
     * Whether this rank exchanges data with other hosts. The first rank always does, so that a veto can travel even
     * where there is nothing to reduce.
     */
    private boolean crosses(Slice mine) {
        return mine.count() > 0 || segment.rank() == 0;
    }

    /** A chunk that is under way between the hosts. */
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
