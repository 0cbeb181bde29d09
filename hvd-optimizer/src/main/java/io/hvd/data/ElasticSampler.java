package io.hvd.data;

import java.util.Map;
import java.util.Objects;
import java.util.Set;

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
 * <p><b>Remainder.</b> Where the rest does not divide by R, it is continued with the epoch's head, so that every rank has as
 * many samples; these repetitions stand last on their ranks, {@link #padding()} is their number and {@code PaddingMask}
 * leaves them out. They are the first samples of the whole epoch, so a run that goes on with as many ranks has the very batches
 * of one that was not interrupted. {@link Builder#padded padded(false)} deals none: then some ranks have one sample fewer, which takes
 * {@code UnevenSteps.JOIN}, or {@code weightByBatchSize()} with {@code batchSize(0)} on a rank without a last batch.
 *
 * <p>The order of epoch e is {@link Permutation#of Permutation.of(N, seed + e)}, that of {@link DistributedSampler}.
 */
public final class ElasticSampler implements ResumableSampler {
    private static final String EPOCH = "epoch";
    private static final String POSITION = "position";
    /** With these three {@link #progress} counts on in batches; checkpoints of earlier versions do not have them. */
    private static final String DEALT_FROM = "dealt_from";

    private static final String RANKS = "ranks";
    private static final String BATCH_SIZE = "batch_size";
    /** The words that tell a place; the others must be those of this sampler. */
    private static final Set<String> MOVING = Set.of(EPOCH, POSITION, DEALT_FROM, RANKS, BATCH_SIZE);

    private Shard whole;
    private final boolean shuffle;
    private final long seed;
    private final boolean padded;

    private int epoch;
    private boolean begun;
    /** Place in the epoch's order at which the pass under way has begun. */
    private int from;
    /** Samples of the epoch's order that all ranks together have seen. */
    private int position;
    /** Place from which on all batches of the epoch were dealt to as many ranks in batches of the same size. */
    private int dealtFrom;
    /** That size; 0 before the first batch. */
    private int dealtBatch;

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

    /**
     * For an elastic job, whose ranks are not known yet: deals to one rank until {@link #deal} says to how many. A {@code TrainingState}
     * calls it in each generation.
     */
    public static Builder builder(int datasetSize) {
        return builder(datasetSize, 1, 0);
    }

    @Override
    public void deal(int replicas, int rank) {
        Shard next = new Shard(datasetSize(), replicas, rank);
        int before = replicas == replicas() ? dealtFrom : position;
        whole = next;
        start(epoch, position);
        dealtFrom = before;
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

    @Override
    public int epoch() {
        return epoch;
    }

    /** How many samples of the epoch's order all ranks together have seen. */
    public int position() {
        return position;
    }

    /** A pass's {@code progress} counts in batches. */
    @Override
    public double done() {
        return datasetSize() == 0 ? 0 : position / (double) datasetSize();
    }

    @Override
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
        dealtFrom = atPosition;
        position = atPosition;
        from = atPosition;
        begun = false;
    }

    @Override
    public int[] indices() {
        return places(length(), from);
    }

    @Override
    public int[] repeatable() {
        return places(padded ? whole.roundedUp() : whole.exact(), 0);
    }

    /** This rank's first samples from a place on, with those of the epoch's head behind its last one. */
    private int[] places(int count, int first) {
        int size = datasetSize();
        int[] order = shuffle ? Permutation.of(size, seed + epoch) : Permutation.identity(size);
        int[] mine = new int[count];
        for (int i = 0; i < count; i++) {
            mine[i] = order[(int) ((first + whole.rank() + (long) i * whole.replicas()) % size)];
        }
        return mine;
    }

    @Override
    public boolean isRest() {
        return from > 0;
    }

    /**
     * Counts batches where the whole epoch is dealt to as many ranks in batches of one size, whether it was resumed or not. Where a run
     * has gone on with other ranks or batches, the samples that were seen before are so much of the epoch as they are of its samples,
     * and the batches after that share the rest evenly.
     */
    @Override
    public double progress(int batchSize, int taken, int batches) {
        boolean sameBatches = batchSize == dealtBatch && dealtFrom <= from;
        int first = sameBatches ? dealtFrom : from;
        long all = batchesBetween(first, batchSize) + batches;
        if (all == 0) {
            return 1;
        }
        double before = first * (double) all / (datasetSize() - first);
        return (before + (all - batches + taken)) / (before + all);
    }

    private long batchesBetween(int first, int batchSize) {
        long together = (long) batchSize * whole.replicas();
        return (from - first + together - 1) / together;
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
        if (batchSize != dealtBatch) {
            dealtFrom = position;
            dealtBatch = batchSize;
        }
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
                DEALT_FROM,
                String.valueOf(dealtFrom),
                RANKS,
                String.valueOf(whole.replicas()),
                BATCH_SIZE,
                String.valueOf(dealtBatch),
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
        words.requireKind("ElasticSampler", state.keySet()); // its own words, below, are no other part's
        saveState().forEach((key, expected) -> {
            if (!MOVING.contains(key)) {
                words.require(key, expected);
            }
        });
        int savedEpoch = words.whole(EPOCH, Integer.MAX_VALUE);
        int savedPosition = words.whole(POSITION, datasetSize());
        if (!state.containsKey(DEALT_FROM)) {
            start(savedEpoch, savedPosition);
            return;
        }
        int savedFrom = words.whole(DEALT_FROM, savedPosition);
        int savedBatch = words.whole(BATCH_SIZE, Integer.MAX_VALUE);
        boolean asManyRanks = words.whole(RANKS, Integer.MAX_VALUE) == whole.replicas();
        start(savedEpoch, savedPosition);
        dealtFrom = asManyRanks ? savedFrom : savedPosition;
        dealtBatch = savedBatch;
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
