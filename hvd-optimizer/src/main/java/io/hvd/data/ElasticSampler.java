package io.hvd.data;

import java.util.Arrays;
import java.util.Map;
import java.util.Objects;

/**
 * Deals a shuffled data set to the ranks, as {@link DistributedSampler} does, and can go on in the middle of an epoch with
 * another number of ranks: Horovod's {@code ElasticSampler}.
 *
 * <p>All ranks step together, so what they have seen of an epoch is a prefix of its order, and the length of this prefix is
 * the whole state. The loader reports each batch that it hands out ({@link #recordBatch}); what it has only loaded ahead
 * does not count. So save the state between a step and the next batch. After {@link #loadState} the rest of the order is
 * dealt to the ranks that there are now: with n samples left and R ranks, rank r takes the places r, r+R, r+2R ... of the
 * rest. Each sample that is left is dealt once, and none that was seen before.
 *
 * <p><b>Remainder.</b> Where the rest does not divide by R, it is continued with its own head, so that every rank has as
 * many samples; these repetitions stand last on their ranks, {@link #padding()} is their number and {@code PaddingMask}
 * leaves them out. {@link Builder#padded padded(false)} deals none: then some ranks have one sample fewer, which takes
 * {@code UnevenSteps.JOIN}, or {@code weightByBatchSize()} with {@code batchSize(0)} on a rank without a last batch.
 *
 * <p>The order of epoch e is {@link Permutation#of Permutation.of(N, seed + e)}, that of {@link DistributedSampler}.
 */
public final class ElasticSampler implements Sampler, Stateful {
    private static final String EPOCH = "epoch";
    private static final String POSITION = "position";

    private final Shard whole;
    private final boolean shuffle;
    private final long seed;
    private final boolean padded;

    private int epoch;
    private boolean begun;
    /** Place in the epoch's order at which the pass under way has begun. */
    private int from;
    /** Samples of the epoch's order that all ranks together have seen. */
    private int position;

    private ElasticSampler(Builder builder) {
        whole = builder.shard;
        shuffle = builder.shuffle;
        seed = builder.seed;
        padded = builder.padded;
    }

    /**
     * Begins with shuffle = true, seed = 0, padded = true.
     *
     * @throws IllegalArgumentException if the rank is outside [0, replicas - 1]
     */
    public static Builder builder(int datasetSize, int replicas, int rank) {
        return new Builder(new Shard(datasetSize, replicas, rank));
    }

    @Override
    public int datasetSize() {
        return whole.datasetSize();
    }

    @Override
    public int replicas() {
        return whole.replicas();
    }

    @Override
    public int length() {
        return padded ? rest().roundedUp() : rest().exact();
    }

    /** How many of this rank's samples of the pass under way are repetitions; they stand at its end. */
    public int padding() {
        return length() - rest().exact();
    }

    /** The epoch under way; before the first iteration, and after {@link #setEpoch}, the one that comes next. */
    public int epoch() {
        return epoch;
    }

    /** How many samples of the epoch's order all ranks together have seen. */
    public int position() {
        return position;
    }

    /** The part of the epoch that is done, from 0 to 1. */
    public double done() {
        return datasetSize() == 0 ? 0 : position / (double) datasetSize();
    }

    /**
     * Makes the next iteration that of this epoch, from its beginning. Where this is the epoch that comes next anyway,
     * nothing changes, so that a loop may call it before every epoch and a resumed one keeps its position.
     *
     * @throws IllegalArgumentException if the epoch is negative
     */
    public void setEpoch(int next) {
        if (next < 0) {
            throw new IllegalArgumentException("epoch must not be negative, found " + next);
        }
        if (begun || next != epoch) {
            start(next, 0);
        }
    }

    private void start(int atEpoch, int atPosition) {
        epoch = atEpoch;
        position = atPosition;
        from = atPosition;
        begun = false;
    }

    @Override
    public int[] indices() {
        int size = datasetSize();
        int[] order = shuffle ? Permutation.of(size, seed + epoch) : Permutation.identity(size);
        return rest().deal(Arrays.copyOfRange(order, from, size), length());
    }

    private Shard rest() {
        return new Shard(datasetSize() - from, whole.replicas(), whole.rank());
    }

    @Override
    public int[] beginEpoch() {
        if (begun) {
            start(epoch + 1, 0);
        }
        begun = true;
        return indices();
    }

    /** Counts a batch on every rank. A loader of hvd calls it; a loop of your own calls it once per batch, on every rank. */
    @Override
    public void recordBatch(int batchSize) {
        long seen = position + (long) batchSize * whole.replicas();
        position = (int) Math.min(seen, datasetSize());
    }

    @Override
    public Map<String, String> saveState() {
        return Map.of(
                EPOCH,
                String.valueOf(epoch),
                POSITION,
                String.valueOf(position),
                "samples",
                String.valueOf(datasetSize()),
                "seed",
                String.valueOf(seed),
                "shuffle",
                String.valueOf(shuffle));
    }

    @Override
    public void loadState(Map<String, String> state) {
        StateWords words = new StateWords("an ElasticSampler", state);
        saveState().forEach((key, expected) -> {
            if (!key.equals(EPOCH) && !key.equals(POSITION)) {
                words.require(key, expected);
            }
        });
        int savedEpoch = words.whole(EPOCH, Integer.MAX_VALUE);
        start(savedEpoch, words.whole(POSITION, datasetSize()));
    }

    /** Settings of an {@link ElasticSampler}; the same on every rank. */
    public static final class Builder {
        private final Shard shard;
        private boolean shuffle = true;
        private long seed;
        private boolean padded = true;

        private Builder(Shard shard) {
            this.shard = Objects.requireNonNull(shard);
        }

        /** Without shuffling every epoch has the order 0..N-1. */
        public Builder shuffle(boolean shuffled) {
            shuffle = shuffled;
            return this;
        }

        /** Sets the seed, which must be the same on every rank. */
        public Builder seed(long number) {
            seed = number;
            return this;
        }

        /** Whether samples are repeated so that every rank has as many. */
        public Builder padded(boolean repeats) {
            padded = repeats;
            return this;
        }

        /** Makes the sampler. */
        public ElasticSampler build() {
            return new ElasticSampler(this);
        }
    }
}
