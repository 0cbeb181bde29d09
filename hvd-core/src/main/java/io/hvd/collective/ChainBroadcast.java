package io.hvd.collective;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Transfers.Transfer;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * A broadcast along a chain: each rank passes the root's data on to the next one, message by message. No rank sends a
 * byte twice, and while it sends one message, it receives the next. The root is done when the last rank is, so that it
 * cannot run ahead of a slow link and fill another rank's memory.
 */
final class ChainBroadcast implements Completion {
    private final RingPosition position;
    private final boolean handsOn;
    private final int root;
    private final Deque<ByteBuffer> coming = new ArrayDeque<>();
    private final Deque<Transfer> receiving = new ArrayDeque<>();
    private final Deque<Transfer> sending = new ArrayDeque<>();

    /** @param buffer holds the data on the root, and receives it on all other ranks */
    ChainBroadcast(RingPosition position, ByteBuffer buffer, int root) {
        this.position = position;
        this.root = root;
        this.handsOn = position.after(1) != root;
        List<ByteBuffer> parts = Messages.cut(buffer);
        if (position.size() == 1 || parts.isEmpty()) {
            return;
        }
        if (position.rank() == root) {
            parts.forEach(this::handOn);
            receiving.add(position.receive(word(), position.before(1)));
        } else {
            coming.addAll(parts);
            parts.forEach(part -> receiving.add(position.receive(part, position.before(1))));
        }
    }

    @Override
    public boolean isDone() {
        while (!receiving.isEmpty() && receiving.element().isDone()) {
            receiving.remove();
            if (position.rank() != root) {
                handOn(coming.remove());
            }
        }
        while (!sending.isEmpty() && sending.element().isDone()) {
            sending.remove();
        }
        return receiving.isEmpty() && sending.isEmpty();
    }

    private void handOn(ByteBuffer part) {
        if (handsOn) {
            sending.add(position.send(part, position.after(1)));
        } else if (coming.isEmpty()) {
            sending.add(position.send(word(), root));
        }
    }

    /** The message that all data has arrived. */
    private static ByteBuffer word() {
        return BufferLedger.PROCESS.direct(Owner.MPI, 1);
    }
}
