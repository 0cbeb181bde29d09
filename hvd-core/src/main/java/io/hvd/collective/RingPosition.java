package io.hvd.collective;

import io.hvd.spi.Transfers;
import io.hvd.spi.Transfers.Transfer;
import java.nio.ByteBuffer;

/**
 * A rank's position in the ring of all ranks, and the transfers to its neighbours for messages that belong together.
 *
 * @param tag the tag of these messages
 */
record RingPosition(Transfers transfers, int rank, int size, int tag) {

    /** The rank that is {@code places} places before this one in the ring. */
    int before(int places) {
        return Math.floorMod(rank - places, size);
    }

    int after(int places) {
        return Math.floorMod(rank + places, size);
    }

    Transfer send(ByteBuffer bytes, int to) {
        return transfers.send(bytes, to, tag);
    }

    Transfer receive(ByteBuffer bytes, int from) {
        return transfers.receive(bytes, from, tag);
    }
}
