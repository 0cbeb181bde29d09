package io.hvd.data;

import java.util.Objects;
import java.util.function.ToLongFunction;

/**
 * Deals samples of similar complexity to the ranks at the same time, where samples differ much in the work they make, such
 * as texts or sequences of different lengths: no rank waits in a step for one with longer samples. The name and the two
 * arguments are Bagua's.
 *
 * <p>In each epoch the samples are sorted by complexity, equal ones in a random order, and cut into groups of one sample per
 * rank. The groups come in a random order, and it is random which rank gets which sample of a group. A batch of B samples
 * is B groups, so both the sum and the maximum of its complexities are close to those of the other ranks' batches; the
 * samples within a batch may differ. A {@link Builder#randomLevel random level} above 0 mixes the groups themselves.
 *
 * <p>Every rank gets the same number of samples. Where the ranks do not divide them, one group, at random, is short. It
 * comes last, and its own samples are repeated for the ranks that lack one; with {@code dropLast} it is left out.
 *
 * <p>The order follows from complexities, seed and epoch alone, which must be the same on every rank. {@link #setEpoch}
 * means what it does in {@link DistributedSampler}.
 */
public final class LoadBalancingDistributedSampler implements Sampler {
    private final Shard shard;
    private final ComplexityGroups groups;
    private final long seed;
    private final boolean dropLast;

    private final EpochCount epochs = new EpochCount();

    private LoadBalancingDistributedSampler(Builder builder) {
        shard = builder.shard;
        groups = new ComplexityGroups(builder.complexities, shard.replicas(), builder.randomLevel);
        seed = builder.seed;
        dropLast = builder.dropLast;
    }

    /**
     * @param complexities of each sample, such as its length; 0 or more, and the same on every rank
     * @throws IllegalArgumentException if a complexity is negative, or the rank is outside [0, replicas - 1]
     */
    public static Builder builder(long[] complexities, int replicas, int rank) {
        return new Builder(new Shard(complexities.length, replicas, rank), complexities.clone());
    }

    /**
     * Reads every sample once, on this thread, to learn its complexity.
     *
     * @param complexity such as the length of a sample; it must give the same on every rank
     * @throws Exception whatever the data set throws
     */
    public static <S> Builder builder(Dataset<S> dataset, ToLongFunction<? super S> complexity, int replicas, int rank)
            throws Exception {
        Objects.requireNonNull(complexity, "complexity");
        long[] complexities = new long[dataset.size()];
        for (int index = 0; index < complexities.length; index++) {
            complexities[index] = complexity.applyAsLong(dataset.get(index));
        }
        return builder(complexities, replicas, rank);
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
        return dropLast ? shard.roundedDown() : shard.roundedUp();
    }

    @Override
    public int padding() {
        return Math.max(0, length() - shard.exact());
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
        return shard.deal(groups.order(seed + epochs.now()), length());
    }

    @Override
    public int[] beginEpoch() {
        epochs.begin();
        return indices();
    }

    /** Begins with randomLevel = 0, seed = 0, dropLast = false. */
    public static final class Builder {
        private final Shard shard;
        private final long[] complexities;
        private double randomLevel;
        private long seed;
        private boolean dropLast;

        private Builder(Shard shard, long[] complexities) {
            this.shard = shard;
            this.complexities = complexities;
            for (int index = 0; index < complexities.length; index++) {
                if (complexities[index] < 0) {
                    throw new IllegalArgumentException("the complexity of sample " + index + " is "
                            + complexities[index] + ", expected 0 or more");
                }
            }
        }

        /**
         * Before the samples are sorted, each complexity grows by a random part of the distance between the smallest and the
         * largest, at most by this share of it: 0 balances best, 1 mixes most.
         *
         * @throws IllegalArgumentException if it is outside 0..1
         */
        public Builder randomLevel(double level) {
            if (!(level >= 0 && level <= 1)) {
                throw new IllegalArgumentException("the random level must be in [0, 1], found " + level);
            }
            randomLevel = level;
            return this;
        }

        /** Sets the seed, which must be the same on every rank. */
        public Builder seed(long seed) {
            this.seed = seed;
            return this;
        }

        /** Leaves the short group out instead of padding it. */
        public Builder dropLast(boolean dropLast) {
            this.dropLast = dropLast;
            return this;
        }

        /** Makes the sampler. */
        public LoadBalancingDistributedSampler build() {
            return new LoadBalancingDistributedSampler(this);
        }
    }
}
