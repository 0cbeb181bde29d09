package io.hvd.host.memory;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * The places in the stages and results that a round uses. A round of few bytes moves on from place to place: bytes that
 * two cores have just passed to each other, and still hold in their first-level caches, take up to twice as long to be
 * written again as bytes that have left these caches (16 and 32 KiB: 4.6 and 8.7 us instead of 3.5 and 5.6 with two
 * ranks). The places are used again before they would crowd the second-level caches.
 */
final class Places {
    /** The smallest place; fewer bytes take as much. */
    private static final int FEWEST_BYTES = 1 << 10;
    /** The largest place that moves; more bytes leave the first-level cache by themselves. */
    private static final int MOST_BYTES = 32 << 10;
    /** The part of a stage through which the places move. */
    private static final int WINDOW_BYTES = 64 << 10;
    /**
     * Buffers of all turns together, at most. Every rank has its own ones, and views of them: with 256 ranks and 64 turns
     * they would be millions, far beyond the caches.
     */
    private static final int MOST_BUFFERS = 512;

    private final Place[] whole;
    /** The moving places: by parity of the round, by the power of two of the bytes, by turn. */
    private final Place[][][] moving = new Place[2][Integer.SIZE][];

    private final int stageBytes;

    /** The stages and the result of one round. */
    record Place(List<ByteBuffer> stages, ByteBuffer result) {
        private Place part(int first, int bytes) {
            return new Place(
                    stages.stream().map(stage -> part(stage, first, bytes)).toList(), part(result, first, bytes));
        }

        private static ByteBuffer part(ByteBuffer buffer, int first, int bytes) {
            return buffer.slice(first, bytes).order(ByteOrder.nativeOrder());
        }
    }

    /** @param stageBytes number of bytes of each stage and result */
    Places(Place even, Place odd, int stageBytes) {
        this.whole = new Place[] {even, odd};
        this.stageBytes = stageBytes;
    }

    /** The whole stages and the whole result. */
    Place whole(long round) {
        return whole[Layout.parity(round)];
    }

    /** The place of a round, at least so many bytes long; the same on all ranks that give the same number. */
    Place of(long round, int bytes) {
        if (bytes > MOST_BYTES || bytes > stageBytes / 2) {
            return whole(round);
        }
        int power = Integer.SIZE - Integer.numberOfLeadingZeros(Math.max(bytes, FEWEST_BYTES) - 1);
        Place[] turns = moving[Layout.parity(round)][power];
        if (turns == null) {
            turns = cut(whole(round), 1 << power);
            moving[Layout.parity(round)][power] = turns;
        }
        return turns[(int) ((round >> 1) % turns.length)];
    }

    private Place[] cut(Place place, int bytes) {
        int turns = Math.min(
                Math.min(WINDOW_BYTES, stageBytes) / bytes,
                MOST_BUFFERS / place.stages().size());
        Place[] parts = new Place[Math.max(1, turns)];
        for (int i = 0; i < parts.length; i++) {
            parts[i] = place.part(i * bytes, bytes);
        }
        return parts;
    }
}
