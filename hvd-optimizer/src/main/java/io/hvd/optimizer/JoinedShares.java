package io.hvd.optimizer;

import io.hvd.ProcessSet;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * The shares of a state that a whole is to be made of.
 *
 * @param owners the rank that has stepped each parameter
 * @param shares by rank; null for one that is not known. At least one is
 * @param first the rank whose learning rate the whole has; its share is known
 * @param saved the whole state of before, from which comes what is not known; null if that begins anew
 */
public record JoinedShares(int[] owners, List<byte[]> shares, int first, byte[] saved) {
    /** @param first whose learning rate the whole has, if its share is known; else it is that of the first known one */
    static JoinedShares of(int[] owners, List<byte[]> shares, int first) {
        boolean known = first >= 0 && first < shares.size() && shares.get(first) != null;
        byte[] any = shares.stream().filter(Objects::nonNull).findFirst().orElseThrow();
        return new JoinedShares(owners, shares, known ? first : shares.indexOf(any), null);
    }

    /**
     * Brings the shares of all ranks to one of them. A collective.
     *
     * @param root global rank
     * @return by rank on the root; empty elsewhere
     */
    static List<byte[]> gather(ProcessSet ranks, String name, byte[] mine, int root) {
        long[] lengths = (long[]) ranks.allgather(name + ".lengths", Tensor.of(new long[] {mine.length}))
                .toArray();
        Tensor all = ranks.gather(name, Tensor.ofBytes(mine), root);
        return ranks.ranks().get(ranks.rank()) == root ? cut((byte[]) all.toArray(), lengths) : List.of();
    }

    private static List<byte[]> cut(byte[] all, long[] lengths) {
        List<byte[]> shares = new ArrayList<>();
        int from = 0;
        for (long length : lengths) {
            shares.add(Arrays.copyOfRange(all, from, from + (int) length));
            from += (int) length;
        }
        return shares;
    }

    JoinedShares withSaved(byte[] whole) {
        return new JoinedShares(owners, shares, first, whole);
    }

    /** The number of parameters whose share is not known. */
    int missing() {
        return (int)
                Arrays.stream(owners).filter(owner -> shares.get(owner) == null).count();
    }

    /** The place of each parameter among those of its owner. */
    public int[] places() {
        int[] counts = new int[shares.size()];
        return Arrays.stream(owners).map(owner -> counts[owner]++).toArray();
    }
}
