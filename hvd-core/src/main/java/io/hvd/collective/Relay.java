package io.hvd.collective;

import java.util.List;
import java.util.stream.IntStream;

/**
 * A rank's part in a broadcast: from whom it has the data, and to whom it passes them on. Few bytes go along a binomial tree,
 * in as few steps as the number of ranks has binary digits. Many go along a chain, in which no rank sends a byte twice, and
 * receives the next message while it sends one.
 *
 * <pre>
 * six ranks       tree                            chain
 *                 0 - 4 - 5                       0 - 1 - 2 - 3 - 4 - 5
 *                 0 - 2 - 3
 *                 0 - 1
 * </pre>
 *
 * @param from nobody on the root, which has itself
 * @param to in the order in which they are served, those first that pass on to the most ranks
 * @param last on the root the ranks that pass nothing on, elsewhere nobody
 */
record Relay(int from, List<Integer> to, List<Integer> last) {
    /** The size up to which a broadcast takes few steps rather than sending few bytes. */
    static final int TREE_BYTES = 256 << 10;

    /** The part of a rank; the shape depends on the bytes alone, so that all ranks choose the same. */
    static Relay of(int rank, int size, int root, int bytes) {
        return bytes > TREE_BYTES ? chain(rank, size, root) : tree(rank, size, root);
    }

    private static Relay chain(int rank, int size, int root) {
        int place = Math.floorMod(rank - root, size);
        List<Integer> next = place + 1 < size ? List.of(place + 1) : List.of();
        List<Integer> last = place == 0 ? List.of(size - 1) : List.of();
        return numbered(Math.max(0, place - 1), next, last, size, root);
    }

    /** A place without its lowest binary digit is that of who serves it. */
    private static Relay tree(int rank, int size, int root) {
        int place = Math.floorMod(rank - root, size);
        List<Integer> last = IntStream.range(1, place == 0 ? size : 1)
                .filter(one -> served(one, size).isEmpty())
                .boxed()
                .toList();
        return numbered(place & (place - 1), served(place, size), last, size, root);
    }

    private static List<Integer> served(int place, int size) {
        int lowest = place == 0 ? Integer.highestOneBit(size) << 1 : Integer.lowestOneBit(place);
        return IntStream.iterate(lowest >> 1, digit -> digit > 0, digit -> digit >> 1)
                .map(digit -> place + digit)
                .filter(one -> one < size)
                .boxed()
                .toList();
    }

    /** Places count from the root on. */
    private static Relay numbered(int from, List<Integer> to, List<Integer> last, int size, int root) {
        return new Relay((root + from) % size, ranks(to, size, root), ranks(last, size, root));
    }

    private static List<Integer> ranks(List<Integer> places, int size, int root) {
        return places.stream().map(place -> (root + place) % size).toList();
    }
}
