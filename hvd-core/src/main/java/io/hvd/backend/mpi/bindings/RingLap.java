package io.hvd.backend.mpi.bindings;

import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Reduction;
import io.hvd.spi.Transfers.Transfer;
import io.hvd.tensor.Reducer;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * One chunk goes round the ring of ranks, twice. In each step a rank sends a block to the next one and takes one from the
 * one before: the first time round it adds its own values to what it gets, until every block has come to a rank that
 * has it complete; the second time round the complete ones go to all ranks. A rank sends 2(n-1)/n of the chunk, the
 * least there is.
 *
 * <pre>
 * three ranks     step 0     1     2     3
 * rank 0 sends         0     2     1     0
 * rank 1 sends         1     0     2     1
 * rank 2 sends         2     1     0     2
 * </pre>
 *
 * <p>P. Patarasuk and X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, J. Parallel
 * Distrib. Comput. 69 (2009).
 */
final class RingLap implements Completion {
    private final RingPlace ringPlace;
    private final Blocks blocks;
    private final Reduction how;
    private final Reducer reducer;
    private final ByteBuffer scratch;

    private int step;
    private Transfer receiving;
    private Transfer sending;

    /**
     * @param blocks reduced where they lie
     * @param scratch for one block
     */
    RingLap(RingPlace ringPlace, Blocks blocks, Reduction how, Reducer reducer, ByteBuffer scratch) {
        this.ringPlace = ringPlace;
        this.blocks = blocks;
        this.how = how;
        this.reducer = reducer;
        this.scratch = scratch;
        begin();
    }

    @Override
    public boolean isDone() {
        while (step < steps()) {
            // Both are asked, for it moves them on.
            if (!receiving.isDone() | !sending.isDone()) {
                return false;
            }
            if (isAdding()) {
                add();
            }
            step++;
            begin();
        }
        return true;
    }

    private void begin() {
        if (step < steps()) {
            receiving = ringPlace.receive(isAdding() ? arrived() : blocks.of(incoming()), ringPlace.before(1));
            sending = ringPlace.send(blocks.of(ringPlace.before(step)), ringPlace.after(1));
        }
    }

    private int steps() {
        return 2 * (ringPlace.size() - 1);
    }

    private boolean isAdding() {
        return step < ringPlace.size() - 1;
    }

    private int incoming() {
        return ringPlace.before(step + 1);
    }

    private ByteBuffer arrived() {
        return Blocks.part(scratch, 0, blocks.bytes(incoming()));
    }

    private void add() {
        ByteBuffer mine = blocks.of(incoming());
        reducer.reduce(how.op(), how.wire(), List.of(mine, arrived()), 0, blocks.count(incoming()), mine);
    }
}
