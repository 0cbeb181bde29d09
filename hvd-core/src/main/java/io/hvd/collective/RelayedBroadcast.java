package io.hvd.collective;

import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Transfers.Transfer;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * A broadcast in which ranks pass the root's data on, message by message, as their {@link Relay} says. The root is done when
 * all ranks have the data, so that it cannot run ahead of a slow link and fill another rank's memory.
 */
final class RelayedBroadcast implements Completion {
    private final RingPosition position;
    private final Relay relay;
    private final int root;
    private final List<ByteBuffer> parts;
    private final Deque<Transfer> receiving = new ArrayDeque<>();
    private final Deque<Transfer> sending = new ArrayDeque<>();
    /** The number of messages that this rank has passed on. */
    private int passed;

    /** @param buffer holds the data on the root, and receives it on all other ranks */
    RelayedBroadcast(RingPosition position, ByteBuffer buffer, int root) {
        this.position = position;
        this.root = root;
        this.relay = Relay.of(position.rank(), position.size(), root, buffer.capacity());
        this.parts = Messages.cut(buffer);
        if (position.size() == 1 || parts.isEmpty()) {
            return;
        }
        if (position.rank() == root) {
            parts.forEach(part -> passOn());
            relay.last().forEach(rank -> receiving.add(position.receive(word(), rank)));
        } else {
            position.receive(parts, relay.from(), receiving);
        }
    }

    @Override
    public boolean isDone() {
        while (!receiving.isEmpty() && receiving.element().isDone()) {
            receiving.remove();
            if (position.rank() != root) {
                passOn();
            }
        }
        while (!sending.isEmpty() && sending.element().isDone()) {
            sending.remove();
        }
        return receiving.isEmpty() && sending.isEmpty();
    }

    private void passOn() {
        int number = passed++;
        relay.to().forEach(rank -> sending.add(position.send(parts.get(number), number, rank)));
        if (relay.to().isEmpty() && passed == parts.size()) {
            sending.add(position.send(word(), root));
        }
    }

    /** The message that all data has arrived. */
    private ByteBuffer word() {
        return Blocks.part(parts.get(0), 0, 0);
    }
}
