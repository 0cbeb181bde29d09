package io.hvd.data;

import io.hvd.log.HvdLogger;

/**
 * Deals a shuffled data set to the ranks for training: every rank gets the same number of samples, so that every rank
 * takes the same number of steps.
 *
 * <p>With N samples and R replicas, rank r takes the places r, r+R, r+2R ... of the epoch's order, ceil(N/R) of them.
 * Where N is not a multiple of R, the order is continued with its own head, as often as it takes; with {@code dropLast}
 * the uneven tail is left out and a rank gets floor(N/R). The order of epoch e is {@link Permutation#of
 * Permutation.of(N, seed + e)}, or 0..N-1 without shuffling: all ranks must use the same seed and be in the same epoch.
 *
 * <p><b>Epochs.</b> Iterating over the loader begins an epoch. The first iteration is epoch 0, and each further one is
 * the epoch after the last. {@link #setEpoch setEpoch(e)} overrides this: the next iteration is epoch e, and counting
 * goes on from there. So calling it before every epoch is allowed but not needed (PyTorch repeats the same order
 * without it), calling it once resumes a run, and calling it with the same number each time repeats an order. It does
 * not touch an iteration that is already under way. {@link #indices()} only looks, and never moves on.
 *
 * <p>For evaluation use {@link EvalSampler}: padding would count some samples twice.
 */
public final class DistributedSampler implements Sampler {

    private static final HvdLogger LOG = HvdLogger.of(DistributedSampler.class);

    private final Shard shard;
    private final boolean shuffle;
    private final long seed;
    private final int length;

    private final EpochCount epochs = new EpochCount();

    /**
     * Shuffles with seed 0 and pads.
     *
     * @throws IllegalArgumentException if the rank is outside [0, replicas - 1]
     */
    public DistributedSampler(int datasetSize, int replicas, int rank) {
        this(builder(datasetSize, replicas, rank));
    }

    private DistributedSampler(Builder builder) {
        shard = builder.shard;
        shuffle = builder.shuffle;
        seed = builder.seed;
        length = builder.dropLast ? shard.roundedDown() : shard.roundedUp();
        if (length == 0) {
            LOG.warn(
                    "rank {} gets 0 samples per epoch: {} samples for {} replicas, dropLast={}",
                    shard.rank(),
                    shard.datasetSize(),
                    shard.replicas(),
                    builder.dropLast);
        }
    }

    /**
     * For what the constructor does not offer.
     *
     * @throws IllegalArgumentException if the rank is outside [0, replicas - 1]
     */
    public static Builder builder(int datasetSize, int replicas, int rank) {
        return new Builder(new Shard(datasetSize, replicas, rank));
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
        return length;
    }

    @Override
    public int padding() {
        return Math.max(0, length - shard.exact());
    }

    /** The epoch under way; before the first iteration, and after {@link #setEpoch}, the one that comes next. */
    public int epoch() {
        return epochs.now();
    }

    /**
     * Makes the next iteration that of this epoch.
     *
     * @throws IllegalArgumentException if the epoch is negative
     */
    public void setEpoch(int epoch) {
        epochs.set(epoch);
    }

    @Override
    public int[] indices() {
        int size = shard.datasetSize();
        return shard.deal(shuffle ? Permutation.of(size, seed + epochs.now()) : Permutation.identity(size), length);
    }

    @Override
    public int[] beginEpoch() {
        epochs.begin();
        return indices();
    }

    /** Begins with shuffle = true, seed = 0, dropLast = false. */
    public static final class Builder {

        private final Shard shard;
        private boolean shuffle = true;
        private long seed;
        private boolean dropLast;

        private Builder(Shard shard) {
            this.shard = shard;
        }

        /** Without shuffling every epoch has the order 0..N-1. */
        public Builder shuffle(boolean shuffle) {
            this.shuffle = shuffle;
            return this;
        }

        /** Sets the seed, which must be the same on every rank. */
        public Builder seed(long seed) {
            this.seed = seed;
            return this;
        }

        /** Leaves the uneven tail out instead of padding it. */
        public Builder dropLast(boolean dropLast) {
            this.dropLast = dropLast;
            return this;
        }

        /** Makes the sampler. */
        public DistributedSampler build() {
            return new DistributedSampler(this);
        }
    }
}
