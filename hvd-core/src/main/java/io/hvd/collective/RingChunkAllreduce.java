package io.hvd.collective;

import io.hvd.kernel.Reducer;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Reduction;
import io.hvd.spi.Transfers.Transfer;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * An allreduce of one chunk, which passes through the ring of ranks twice. In each step a rank sends a block to the
 * next rank and receives a block from the rank before. In the first pass it adds its own values to the block that it
 * has received, until each block is complete on one rank (a reduce-scatter). In the second pass the complete blocks go
 * to all ranks (an allgather). A rank sends 2(n-1)/n of the chunk, which is the least possible.
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
final class RingChunkAllreduce implements Completion {
    private final RingPosition position;
    private final Blocks blocks;
    private final Reduction how;
    private final Reducer reducer;
    private final ByteBuffer scratch;

    private int step;
    private Transfer receiving;
    private Transfer sending;
    /** What the next step receives, if its place is free already; otherwise null. */
    private Transfer following;

    /**
     * @param blocks the chunk, which is reduced in place
     * @param scratch has room for one block
     */
    RingChunkAllreduce(RingPosition position, Blocks blocks, Reduction how, Reducer reducer, ByteBuffer scratch) {
        this.position = position;
        this.blocks = blocks;
        this.how = how;
        this.reducer = reducer;
        this.scratch = scratch;
        begin();
    }

    @Override
    public boolean isDone() {
        while (step < steps()) {
            // Both are asked in any case, because the question moves a transfer on.
            boolean received = receiving.isDone();
            boolean sent = sending.isDone();
            if (!received || !sent) {
                if (sent && following == null) {
                    following = receiveAhead();
                }
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

    /**
     * Receives the next step's block already, which the rank before may send while this one still waits for the block of this
     * step; what comes before its transfer is started takes a copy. Blocks that are added have one place, and wait.
     */
    private Transfer receiveAhead() {
        int next = step + 1;
        boolean isComplete = next >= position.size() - 1 && next < steps();
        return isComplete ? position.receive(blocks.of(position.before(next + 1)), position.before(1)) : null;
    }

    private void begin() {
        if (step < steps()) {
            receiving = following != null
                    ? following
                    : position.receive(isAdding() ? arrived() : blocks.of(incoming()), position.before(1));
            following = null;
            sending = position.send(blocks.of(position.before(step)), position.after(1));
        }
    }

    private int steps() {
        return 2 * (position.size() - 1);
    }

    private boolean isAdding() {
        return step < position.size() - 1;
    }

    private int incoming() {
        return position.before(step + 1);
    }

    private ByteBuffer arrived() {
        return Blocks.part(scratch, 0, blocks.bytes(incoming()));
    }

    private void add() {
        ByteBuffer mine = blocks.of(incoming());
        reducer.reduce(how.op(), how.wire(), List.of(mine, arrived()), 0, blocks.count(incoming()), mine);
    }
}
