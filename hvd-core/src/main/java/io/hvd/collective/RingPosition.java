package io.hvd.collective;

import io.hvd.spi.Transfers;
import io.hvd.spi.Transfers.Transfer;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;

/**
 * A rank's position in the ring of all ranks, and the transfers to its neighbours for messages that belong together.
 *
 * @param tag the first of the {@link #TAGS} tags that these messages may have
 */
record RingPosition(Transfers transfers, int rank, int size, int tag) {
    /**
     * The number of tags in which messages that follow each other take turns. Where several connections lead to a rank, the
     * tag decides which of them a message takes.
     */
    static final int TAGS = 8;

    /** The rank that is {@code places} places before this one in the ring. */
    int before(int places) {
        return Math.floorMod(rank - places, size);
    }

    int after(int places) {
        return Math.floorMod(rank + places, size);
    }

    Transfer send(ByteBuffer bytes, int to) {
        return send(bytes, 0, to);
    }

    Transfer receive(ByteBuffer bytes, int from) {
        return receive(bytes, 0, from);
    }

    /** @param number how many messages to that rank the same operation has had before */
    Transfer send(ByteBuffer bytes, int number, int to) {
        return transfers.send(bytes, to, tag + number % TAGS);
    }

    Transfer receive(ByteBuffer bytes, int number, int from) {
        return transfers.receive(bytes, from, tag + number % TAGS);
    }

    /** Starts to send messages that belong together, in their order. */
    void send(List<ByteBuffer> parts, int to, Collection<Transfer> underWay) {
        for (int i = 0; i < parts.size(); i++) {
            underWay.add(send(parts.get(i), i, to));
        }
    }

    void receive(List<ByteBuffer> parts, int from, Collection<Transfer> underWay) {
        for (int i = 0; i < parts.size(); i++) {
            underWay.add(receive(parts.get(i), i, from));
        }
    }
}
