package io.hvd.train;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.BitSet;

/**
 * Counts how many different samples of a data set all ranks together have seen, so that an evaluation can say what it is of. Every
 * rank gets one bit per sample and rank.
 */
public final class DistinctSamples {
    private final String name;
    private final int datasetSize;
    private final BitSet mine;
    private long seen;

    /**
     * @param name the same on every rank
     * @param datasetSize the number of samples there are, the same on every rank
     */
    public DistinctSamples(String name, int datasetSize) {
        this.name = name;
        this.datasetSize = datasetSize;
        this.mine = new BitSet(datasetSize);
    }

    /** Adds samples that this rank has seen, by their index in the data set. */
    public void add(int... indices) {
        for (int index : indices) {
            if (index < 0 || index >= datasetSize) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "metric \"" + name + "\": sample " + index + " of a data set of " + datasetSize);
            }
            mine.set(index);
        }
        seen += indices.length;
    }

    /** The numbers over the ranks of a process set; each of them must call it, and gets the same result. */
    public Result reduce(ProcessSet ranks) {
        int words = (datasetSize + Long.SIZE - 1) / Long.SIZE;
        long[] bits = new long[words + 1];
        long[] set = mine.toLongArray();
        System.arraycopy(set, 0, bits, 0, set.length);
        bits[words] = seen;
        long[] all = (long[]) ranks.allgather("metric." + name, Tensor.of(bits)).toArray();
        long[] union = new long[words];
        long total = 0;
        for (int from = 0; from < all.length; from += words + 1) {
            for (int word = 0; word < words; word++) {
                union[word] |= all[from + word];
            }
            total += all[from + words];
        }
        return new Result(BitSet.valueOf(union).cardinality(), total, datasetSize);
    }

    /**
     * How many samples were seen.
     *
     * @param distinct different ones
     * @param seen all, repetitions too
     * @param datasetSize those that there are
     */
    public record Result(long distinct, long seen, int datasetSize) {
        @Override
        public String toString() {
            return distinct + " distinct samples of " + datasetSize + ", seen " + seen + " times";
        }
    }
}
