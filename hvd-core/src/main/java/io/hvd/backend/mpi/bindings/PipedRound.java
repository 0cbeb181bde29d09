package io.hvd.backend.mpi.bindings;

import io.hvd.spi.Pieces;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;

/**
 * A round of a {@link Pipeline}, and its own part of the stage: on either side a place for each rank.
 *
 * @param type that travels
 * @param from where in each piece its elements begin
 * @param share elements that a place holds
 * @param slot number of its part; no other round under way has the same
 */
record PipedRound(Stage stage, DType type, long from, int share, int slot) {

    /** How many elements of a rank's piece go in this round. */
    int count(Pieces pieces, int rank) {
        return pieces.count(rank, from, share);
    }

    /** Where in the tensor they begin. */
    long first(Pieces pieces, int rank) {
        return pieces.starts()[rank] + from;
    }

    ByteBuffer front(int place, int count) {
        return part(stage.front, place, count);
    }

    ByteBuffer back(int place, int count) {
        return part(stage.back, place, count);
    }

    private ByteBuffer part(ByteBuffer side, int place, int count) {
        int at = (slot * stage.size + place) * share;
        return Stage.part(side, at * type.bytes(), count * type.bytes());
    }
}
