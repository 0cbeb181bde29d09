package io.hvd.backend.mpi.bindings;

import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Transfers.Transfer;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.IntFunction;

/**
 * Every rank sends bytes to every other one, all of them at once, in messages that MPI sends without asking first. Who has
 * none for another one sends an empty message: so nobody is done before all have begun, and no rank whose own sends need no
 * answer can run ahead and fill the memory of the others.
 */
final class Exchange implements Completion {
    private final Deque<Transfer> underWay = new ArrayDeque<>();

    /**
     * @param sent to a rank; as long as what that one has for this rank in {@code received}
     * @param received from a rank; neither is asked for this rank's own
     */
    Exchange(RingPlace ringPlace, IntFunction<ByteBuffer> sent, IntFunction<ByteBuffer> received) {
        for (int places = 1; places < ringPlace.size(); places++) {
            int from = ringPlace.before(places);
            Messages.cutOrEmpty(received.apply(from)).forEach(part -> underWay.add(ringPlace.receive(part, from)));
        }
        for (int places = 1; places < ringPlace.size(); places++) {
            int to = ringPlace.after(places);
            Messages.cutOrEmpty(sent.apply(to)).forEach(part -> underWay.add(ringPlace.send(part, to)));
        }
    }

    @Override
    public boolean isDone() {
        // Asking for one moves all of them on.
        while (!underWay.isEmpty() && underWay.element().isDone()) {
            underWay.remove();
        }
        return underWay.isEmpty();
    }
}
