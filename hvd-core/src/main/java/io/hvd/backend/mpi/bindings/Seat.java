package io.hvd.backend.mpi.bindings;

import io.hvd.spi.Transfers;
import io.hvd.spi.Transfers.Transfer;
import java.nio.ByteBuffer;

/**
 * A rank's place in the circle of ranks, for messages that belong together.
 *
 * @param tag of the messages
 */
record Seat(Transfers transfers, int rank, int size, int tag) {

    /** The rank that sits so many places before this one. */
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
