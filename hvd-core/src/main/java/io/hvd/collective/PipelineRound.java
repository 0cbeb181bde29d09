package io.hvd.collective;

import io.hvd.spi.Pieces;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;

/**
 * A round of a {@link Pipeline}, and its own part of the stage, which has a place for each rank in both of the stage's
 * buffers.
 *
 * @param type the type that travels
 * @param from the first element of this round within each piece
 * @param share number of elements that a place holds
 * @param slot number of the round's part of the stage; no other round under way has the same number
 */
record PipelineRound(Stage stage, DType type, long from, int share, int slot) {

    /** The number of elements of a rank's piece that travel in this round. */
    int count(Pieces pieces, int rank) {
        return pieces.count(rank, from, share);
    }

    /** The first of these elements, counted from the beginning of the tensor. */
    long first(Pieces pieces, int rank) {
        return pieces.starts()[rank] + from;
    }

    ByteBuffer front(int place, int count) {
        return part(stage.front(), place, count);
    }

    ByteBuffer back(int place, int count) {
        return part(stage.back(), place, count);
    }

    private ByteBuffer part(ByteBuffer side, int place, int count) {
        int at = (slot * stage.size + place) * share;
        return Stage.part(side, at * type.bytes(), count * type.bytes());
    }
}
