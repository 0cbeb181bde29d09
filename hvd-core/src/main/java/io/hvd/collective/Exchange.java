package io.hvd.collective;

import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Transfers.Transfer;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.IntFunction;

/**
 * An exchange in which every rank sends bytes to every other one, all at the same time, in messages that MPI sends
 * without asking first. A rank without bytes for another one sends it an empty message. No rank is therefore done
 * before all have begun, and no rank whose own messages need no answer can run ahead and fill the memory of the others.
 */
final class Exchange implements Completion {
    private final Deque<Transfer> underWay = new ArrayDeque<>();

    /**
     * @param sent the bytes for a rank, as many as that rank has for this one in {@code received}
     * @param received the place for the bytes from a rank; neither function is called with this rank's own number
     */
    Exchange(RingPosition position, IntFunction<ByteBuffer> sent, IntFunction<ByteBuffer> received) {
        for (int places = 1; places < position.size(); places++) {
            int from = position.before(places);
            position.receive(Messages.cutOrEmpty(received.apply(from)), from, underWay);
        }
        for (int places = 1; places < position.size(); places++) {
            int to = position.after(places);
            position.send(Messages.cutOrEmpty(sent.apply(to)), to, underWay);
        }
    }

    @Override
    public boolean isDone() {
        // The question whether one of them is done moves all of them on.
        while (!underWay.isEmpty() && underWay.element().isDone()) {
            underWay.remove();
        }
        return underWay.isEmpty();
    }
}
