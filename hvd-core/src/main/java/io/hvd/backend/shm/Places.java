package io.hvd.backend.shm;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * Where in the stages and results a round has its bytes. Few of them move on from round to round: what two cores have just
 * passed to each other, and still hold in their first caches, takes up to twice as long to be written anew as what has left
 * those (16 and 32 KiB: 4.6 and 8.7 us instead of 3.5 and 5.6 with two ranks). They come back before they would crowd
 * the second caches.
 */
final class Places {
    /** Fewer bytes than this take as much. */
    private static final int FEWEST_BYTES = 1 << 10;
    /** More leave the first cache by themselves. */
    private static final int MOST_BYTES = 32 << 10;
    /** The part of a stage through which the places move. */
    private static final int WINDOW_BYTES = 64 << 10;

    private final Place[] whole;
    /** By parity, by the power of two that the bytes take, by turn. */
    private final Place[][][] moving = new Place[2][Integer.SIZE][];

    private final int stageBytes;

    /** What lies there in one round. */
    record Place(List<ByteBuffer> stages, ByteBuffer result) {
        private Place part(int first, int bytes) {
            return new Place(
                    stages.stream().map(stage -> part(stage, first, bytes)).toList(), part(result, first, bytes));
        }

        private static ByteBuffer part(ByteBuffer buffer, int first, int bytes) {
            return buffer.slice(first, bytes).order(ByteOrder.nativeOrder());
        }
    }

    /** @param stageBytes of each stage and result */
    Places(Place even, Place odd, int stageBytes) {
        this.whole = new Place[] {even, odd};
        this.stageBytes = stageBytes;
    }

    /** All that there is. */
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
        Place[] parts = new Place[Math.max(1, Math.min(WINDOW_BYTES, stageBytes) / bytes)];
        for (int i = 0; i < parts.length; i++) {
            parts[i] = place.part(i * bytes, bytes);
        }
        return parts;
    }
}
