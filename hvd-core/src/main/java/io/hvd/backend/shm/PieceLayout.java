package io.hvd.backend.shm;

import io.hvd.spi.Pieces;
import java.util.List;

/**
 * The layout of a buffer that holds the pieces of all ranks in one round: first those of the ranks at place 0 of every
 * host, then those at place 1, and so on. The pieces that go between the ranks at one place therefore lie side by
 * side. Positions and counts are in elements; only {@link #lengths} returns bytes.
 */
final class PieceLayout {
    private final List<List<Integer>> hosts;
    /** The first element of each piece by place and host, and one more number for the end of the last piece. */
    private final int[] starts;

    /**
     * @param hosts numbers of the ranks of each host, by place; all hosts have the same number of ranks
     * @param pieces the pieces of all ranks
     * @param from the first element of every piece in this round
     * @param share the most elements of a piece in this round
     */
    PieceLayout(List<List<Integer>> hosts, Pieces pieces, long from, int share) {
        this.hosts = hosts;
        this.starts = new int[hosts.size() * places() + 1];
        for (int place = 0; place < places(); place++) {
            for (int host = 0; host < hosts.size(); host++) {
                int at = at(place, host);
                starts[at + 1] = starts[at] + pieces.count(member(place, host), from, share);
            }
        }
    }

    int places() {
        return hosts.get(0).size();
    }

    /** The number of the rank at a place of a host. */
    int member(int place, int host) {
        return hosts.get(host).get(place);
    }

    int start(int place, int host) {
        return starts[at(place, host)];
    }

    int count(int place, int host) {
        return starts[at(place, host) + 1] - start(place, host);
    }

    /** Number of elements of all hosts at a place. */
    int count(int place) {
        return starts[at(place + 1, 0)] - start(place, 0);
    }

    /** Number of bytes at a place, by host. */
    long[] lengths(int place, int elementBytes) {
        long[] lengths = new long[hosts.size()];
        for (int host = 0; host < lengths.length; host++) {
            lengths[host] = (long) count(place, host) * elementBytes;
        }
        return lengths;
    }

    private int at(int place, int host) {
        return place * hosts.size() + host;
    }
}
