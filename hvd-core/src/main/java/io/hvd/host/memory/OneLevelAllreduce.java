package io.hvd.host.memory;

import io.hvd.host.memory.Layout.Counter;
import io.hvd.kernel.Converter;
import io.hvd.kernel.Reducer;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * Allreduce and reduce, chunk by chunk, among ranks that share one memory: from the user's memory through a segment and back, by the algorithm
 * known as reducescatter and allgather: every rank reduces its slice of all stages into the result, from which all
 * ranks copy the whole. While the others still reduce a chunk, a rank packs the next. All ranks get the same bits,
 * because each slice has one owner, which adds in the order of the ranks.
 *
 * <p>Few bytes of few ranks take one step instead: every rank adds all stages for itself.
 */
final class OneLevelAllreduce implements SegmentAllreduce {
    /** Up to this size, one more wait costs more than adding all stages on every rank. */
    private static final int FEW_BYTES = 2048;
    /** Up to so many ranks: all of them together read the stages as often as the square of their number. */
    private static final int FEW_RANKS = 64;

    private final Rounds rounds;
    private final Segment segment;
    private final Converter converter = Converter.ofPlaces();
    private final Reducer reducer;

    OneLevelAllreduce(Rounds rounds, Reducer reducer) {
        this.rounds = rounds;
        this.reducer = reducer;
        this.segment = rounds.segment();
    }

    @Override
    public boolean run(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        SegmentPass pass = SegmentPass.onOneHost(rounds, converter, reducer, inputs, outputs, how, FEW_BYTES);
        return pass.isFew() && segment.ranks() <= FEW_RANKS ? inOneStep(pass) : inRounds(pass);
    }

    private boolean inOneStep(SegmentPass pass) {
        int count = (int) pass.elements();
        pass.pack(0, count);
        if (isVetoed()) {
            return false;
        }
        pass.finishAll(rounds.current(), 0, count);
        return true;
    }

    /**
     * Asks in the first round whether all ranks agree; until this is known, nothing is written and nothing more is
     * packed.
     */
    private boolean inRounds(SegmentPass pass) {
        int count = pass.chunk(0);
        pass.packForOthers(0, count);
        if (isVetoed()) {
            return false;
        }
        for (long from = 0; count > 0; ) {
            long here = rounds.current();
            rounds.await(Counter.PACKED, here);
            pass.finishOwn(here, from, count);
            rounds.reduced(here);
            int next = pass.chunk(from + count);
            if (next > 0) {
                pass.packForOthers(from + count, next);
            }
            rounds.await(Counter.REDUCED, here);
            pass.unpackFinished(here, from, count);
            from += count;
            count = next;
        }
        return true;
    }

    /** Whether a rank vetoes the round that has just begun. */
    private boolean isVetoed() {
        rounds.await(Counter.PACKED, rounds.current());
        return segment.isVetoed(rounds.current());
    }

    /**
     * Reduces to one rank.
     *
     * @param output null on all ranks but the root
     */
    void reduce(Tensor input, Tensor output, Reduction how, int root) {
        boolean isRoot = segment.rank() == root;
        List<Tensor> inputs = List.of(input);
        List<Tensor> outputs = isRoot ? List.of(output) : inputs;
        SegmentPass pass = SegmentPass.onOneHost(rounds, converter, reducer, inputs, outputs, how, FEW_BYTES);
        long from = 0;
        for (int count = pass.chunk(from); count > 0; count = pass.chunk(from)) {
            pass.packForOthers(from, count);
            long here = rounds.current();
            rounds.await(Counter.PACKED, here);
            pass.combineOwn(here, from, count);
            rounds.reduced(here);
            if (isRoot) {
                rounds.await(Counter.REDUCED, here);
                pass.unpack(here, from, count);
            }
            from += count;
        }
    }

    @Override
    public void veto(long elements, Reduction how) {
        rounds.next();
        rounds.veto(rounds.current());
        rounds.packed();
        rounds.await(Counter.PACKED, rounds.current());
    }
}
