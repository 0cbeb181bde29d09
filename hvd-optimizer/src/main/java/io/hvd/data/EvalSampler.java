package io.hvd.data;

/**
 * Deals a data set to the ranks for evaluation: in order, and over all ranks every sample exactly once.
 *
 * <p>Nothing is padded, so some ranks have one sample less than others, or none. Add sums and counts up over the ranks
 * and divide once; the mean of the ranks' means would be wrong. A loop that calls a collective per batch has to cope
 * with ranks that have fewer batches.
 */
public final class EvalSampler implements Sampler {

    private final Shard shard;

    /** @throws IllegalArgumentException if the rank is outside [0, replicas - 1] */
    public EvalSampler(int datasetSize, int replicas, int rank) {
        shard = new Shard(datasetSize, replicas, rank);
    }

    @Override
    public int datasetSize() {
        return shard.datasetSize();
    }

    @Override
    public int replicas() {
        return shard.replicas();
    }

    @Override
    public int length() {
        return shard.exact();
    }

    @Override
    public int[] indices() {
        return shard.deal(Permutation.identity(shard.datasetSize()), length());
    }
}
