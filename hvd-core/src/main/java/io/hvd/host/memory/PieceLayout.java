package io.hvd.host.memory;

import io.hvd.spi.Pieces;

/**
 * The layout of a buffer that holds the pieces of all ranks in one round, so that the pieces that one rank carries lie
 * side by side, ordered by group. Where every rank carries, the pieces of the ranks at place 0 of every group come
 * first, then those at place 1, and so on; where leaders carry, the pieces of group 0 come first, by place, then those
 * of group 1. Positions and counts are in elements; only {@link #lengths} returns bytes.
 */
final class PieceLayout {
    private final Groups groups;
    /** The first element of each piece, by group and place. */
    private final int[][] starts;

    private final Pieces pieces;
    private final long from;
    private final int share;

    /**
     * @param pieces the pieces of all ranks
     * @param from the first element of every piece in this round
     * @param share the most elements of a piece in this round
     */
    PieceLayout(Groups groups, Pieces pieces, long from, int share) {
        this.groups = groups;
        this.pieces = pieces;
        this.from = from;
        this.share = share;
        this.starts = new int[groups.count()][];
        for (int group = 0; group < groups.count(); group++) {
            starts[group] = new int[groups.places(group)];
        }
        int at = 0;
        int columns = groups.allCarry() ? groups.places(0) : 1;
        for (int column = 0; column < columns; column++) {
            for (int group = 0; group < groups.count(); group++) {
                int first = groups.allCarry() ? column : 0;
                int end = groups.allCarry() ? column + 1 : groups.places(group);
                for (int place = first; place < end; place++) {
                    starts[group][place] = at;
                    at += count(place, group);
                }
            }
        }
    }

    /** The first element of the piece of the rank at a place of a group. */
    int start(int place, int group) {
        return starts[group][place];
    }

    /** Number of elements of the piece of the rank at a place of a group. */
    int count(int place, int group) {
        return pieces.count(groups.member(place, group), from, share);
    }

    /** Number of elements that the rank at a place carries of a group. */
    private int carried(int place, int group) {
        if (groups.allCarry()) {
            return count(place, group);
        }
        int all = 0;
        for (int other = 0; place == 0 && other < groups.places(group); other++) {
            all += count(other, group);
        }
        return all;
    }

    /** The range of elements that the rank at a place carries of all groups. */
    Slice carried(int place) {
        int all = 0;
        for (int group = 0; group < groups.count(); group++) {
            all += carried(place, group);
        }
        return new Slice(all == 0 ? 0 : start(place, 0), all);
    }

    /** Number of bytes that the rank at a place carries of each group. */
    long[] lengths(int place, int elementBytes) {
        long[] lengths = new long[groups.count()];
        for (int group = 0; group < lengths.length; group++) {
            lengths[group] = (long) carried(place, group) * elementBytes;
        }
        return lengths;
    }
}
