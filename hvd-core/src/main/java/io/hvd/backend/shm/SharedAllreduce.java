package io.hvd.backend.shm;

import io.hvd.backend.shm.Layout.Counter;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Converter;
import io.hvd.tensor.Reducer;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * Allreduce chunk by chunk among ranks of one host, from the user's memory through a segment and back, by the algorithm
 * known as reducescatter and allgather: every rank reduces its slice of all stages into the result, from which all
 * ranks copy the whole. While the others still reduce a chunk, a rank packs the next. All ranks get the same bits,
 * because each slice has one owner, which adds in the order of the ranks.
 *
 * <p>Few bytes take one step instead: every rank adds all stages for itself.
 */
final class SharedAllreduce implements SegmentAllreduce {
    /** Up to this size, one more wait costs more than adding all stages on every rank. */
    private static final int FEW_BYTES = 2048;

    private final Rounds rounds;
    private final Segment segment;
    private final Converter converter = new Converter();
    private final Reducer reducer;

    SharedAllreduce(Rounds rounds, Reducer reducer) {
        this.rounds = rounds;
        this.reducer = reducer;
        this.segment = rounds.segment();
    }

    @Override
    public boolean run(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        SegmentPass pass = new SegmentPass(rounds, converter, reducer, inputs, outputs, how, FEW_BYTES);
        return pass.isFew() ? inOneStep(pass) : inRounds(pass);
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

    @Override
    public void veto(long elements, Reduction how) {
        rounds.next();
        rounds.veto(rounds.current());
        rounds.packed();
        rounds.await(Counter.PACKED, rounds.current());
    }
}
