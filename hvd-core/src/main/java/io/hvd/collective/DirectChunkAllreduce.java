package io.hvd.collective;

import io.hvd.kernel.Reducer;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Reduction;
import io.hvd.spi.Transfers.Transfer;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * An allreduce of one chunk whose blocks go straight to the ranks that own them, and back to all ranks when they are
 * reduced. Each rank sends as much as in a ring, but the owner has all values at once and adds them in the order of the
 * ranks, 16-bit floats with a float32 accumulator that is rounded once. In a ring they would be rounded on every rank.
 */
final class DirectChunkAllreduce implements Completion {
    private final RingPosition position;
    private final Blocks blocks;
    private final Reduction how;
    private final Reducer reducer;
    private final ByteBuffer scratch;

    private final List<Transfer> underWay = new ArrayList<>();
    private boolean reduced;

    /**
     * @param blocks the chunk, which is reduced in place
     * @param scratch has room for as many blocks as there are ranks
     */
    DirectChunkAllreduce(RingPosition position, Blocks blocks, Reduction how, Reducer reducer, ByteBuffer scratch) {
        this.position = position;
        this.blocks = blocks;
        this.how = how;
        this.reducer = reducer;
        this.scratch = scratch;
        for (int places = 1; places < position.size(); places++) {
            underWay.add(position.receive(arrived(position.before(places)), position.before(places)));
            underWay.add(position.send(blocks.of(position.after(places)), position.after(places)));
        }
    }

    @Override
    public boolean isDone() {
        underWay.removeIf(Transfer::isDone);
        if (underWay.isEmpty() && !reduced) {
            reduced = true;
            reduce();
            share();
        }
        return underWay.isEmpty();
    }

    private void reduce() {
        ByteBuffer mine = blocks.of(position.rank());
        List<ByteBuffer> all = new ArrayList<>();
        for (int rank = 0; rank < position.size(); rank++) {
            all.add(rank == position.rank() ? mine : arrived(rank));
        }
        reducer.reduce(how.op(), how.wire(), all, 0, blocks.count(position.rank()), mine);
    }

    private void share() {
        for (int places = 1; places < position.size(); places++) {
            underWay.add(position.receive(blocks.of(position.before(places)), position.before(places)));
            underWay.add(position.send(blocks.of(position.rank()), position.after(places)));
        }
    }

    /** The place of this rank's block as another rank has sent it. */
    private ByteBuffer arrived(int from) {
        int bytes = blocks.bytes(position.rank());
        return Blocks.part(scratch, from * bytes, bytes);
    }
}
