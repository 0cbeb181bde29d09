package io.hvd.data.parquet;

import io.hvd.data.ResumableSampler;
import io.hvd.data.StateWords;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32;

/**
 * Deals the rows of a {@link RowDataset} so that each rank reads row groups of its own, and can go on in the middle of an epoch with
 * another number of ranks, also in an elastic job.
 *
 * <p><b>Order.</b> The blocks of the data set are shuffled, and the rows within each {@link Builder#window window} of blocks. The order of
 * an epoch follows from the files, the seed and the epoch alone; ranks and workers do not change it. Of R ranks, each takes one of R
 * equal parts of it. Two neighbours share at most the window in which their border lies; no other block is read by two ranks.
 *
 * <p><b>Resuming.</b> The ranks step together, so how many rows each has seen says which rows are left. These are dealt in equal parts to the
 * ranks that there are now: each row that is left once, and none that was seen before. With as many ranks, each goes on where it
 * was. Nothing is read to find the place. The loader reports each batch that it hands out ({@link #recordBatch}), so save the state between
 * a step and the next batch.
 *
 * <p><b>Remainder.</b> Where the rows do not divide by the ranks, some ranks have one fewer, and repeat their last one, which
 * {@link #padding} tells. {@link Builder#padded padded(false)} deals each row exactly once, as for an evaluation; then the ranks may have
 * different numbers of batches, which takes {@code UnevenSteps.JOIN}.
 */
public final class RowGroupSampler implements ResumableSampler {
    private static final String EPOCH = "epoch";
    private static final String SEEN = "seen";
    private static final String SAMPLES = "samples";
    private static final String BLOCKS = "blocks";
    private static final String SEED = "seed";
    private static final String SHUFFLE = "shuffle";
    private static final String WINDOW = "window";
    /** The words that must be those of this sampler, in the order in which they are compared. */
    private static final List<String> FIXED = List.of(SAMPLES, BLOCKS, SEED, SHUFFLE, WINDOW);

    private final int[] firsts;
    private int replicas;
    private int rank;
    private final boolean shuffle;
    private final long seed;
    private final int window;
    private final boolean padded;

    private int epoch;
    private boolean begun;
    /** What was seen of the epoch before the pass under way. */
    private SeenRows before = SeenRows.NONE;
    /** Rows of the pass that each rank has seen. */
    private int taken;

    private RowGroupSampler(Builder builder) {
        firsts = builder.blocks.firsts();
        replicas = builder.replicas;
        rank = builder.rank;
        shuffle = builder.shuffle;
        seed = builder.seed;
        window = builder.window;
        padded = builder.padded;
    }

    /**
     * Begins with shuffle = true, seed = 0, padded = true, and windows of 4 blocks.
     *
     * @throws IllegalArgumentException if the rank is outside [0, replicas - 1]
     */
    public static Builder builder(RowDataset<?> rows, int replicas, int rank) {
        requireRank(replicas, rank);
        return new Builder(rows, replicas, rank);
    }

    /**
     * For an elastic job, whose ranks are not known yet: deals to one rank until {@link #deal} says to how many. A {@code TrainingState}
     * calls it in each generation.
     */
    public static Builder builder(RowDataset<?> rows) {
        return builder(rows, 1, 0);
    }

    private static void requireRank(int replicas, int rank) {
        if (rank < 0 || rank >= replicas) {
            throw new IllegalArgumentException("invalid rank " + rank + ": with " + replicas
                    + " replicas a rank is in the interval [0, " + (replicas - 1) + "]");
        }
    }

    @Override
    public void deal(int toReplicas, int toRank) {
        requireRank(toReplicas, toRank);
        SeenRows seen = seen();
        replicas = toReplicas;
        rank = toRank;
        start(epoch, seen);
    }

    @Override
    public int datasetSize() {
        return firsts[firsts.length - 1];
    }

    @Override
    public int replicas() {
        return replicas;
    }

    private RestOfOrder rest() {
        return before.rest(datasetSize());
    }

    @Override
    public int length() {
        return length(rest());
    }

    /** The first rank has the most. */
    private int length(RestOfOrder rest) {
        return rest.share(replicas, padded ? 0 : rank).length();
    }

    /** How many of this rank's rows of the pass under way are repetitions, 0 or 1; it stands at its end. */
    @Override
    public int padding() {
        return length() - rest().share(replicas, rank).length();
    }

    @Override
    public int epoch() {
        return epoch;
    }

    @Override
    public double done() {
        int size = datasetSize();
        return size == 0 ? 0 : 1 - seen().rest(size).length() / (double) size;
    }

    private SeenRows seen() {
        return before.and(replicas, taken);
    }

    @Override
    public void setEpoch(int next) {
        if (next < 0) {
            throw new IllegalArgumentException("epoch must not be negative, found " + next);
        }
        if (begun || next != epoch) {
            start(next, SeenRows.NONE);
        }
    }

    private void start(int atEpoch, SeenRows seen) {
        epoch = atEpoch;
        before = seen;
        taken = 0;
        begun = false;
    }

    @Override
    public int[] indices() {
        return rows(rest());
    }

    @Override
    public int[] repeatable() {
        return rows(RestOfOrder.whole(datasetSize()));
    }

    private int[] rows(RestOfOrder of) {
        RowOrder order = new RowOrder(firsts, window, seed, epoch, shuffle);
        RestOfOrder mine = of.share(replicas, rank);
        int length = length(of);
        int count = mine.length();
        int[] rows = order.at(mine, length);
        if (count < length) {
            int all = datasetSize();
            var last = new RestOfOrder(List.of(new RestOfOrder.Stretch(all - 1, all)));
            Arrays.fill(rows, count, length, count > 0 ? rows[count - 1] : order.at(last, 1)[0]);
        }
        return rows;
    }

    @Override
    public int[] beginEpoch() {
        if (begun) {
            start(epoch + 1, SeenRows.NONE);
        }
        begun = true;
        return indices();
    }

    @Override
    public boolean isRest() {
        return !before.equals(SeenRows.NONE);
    }

    /** Counts a batch on every rank. A loader of hvd calls it; a loop of your own calls it once per batch, on every rank. */
    @Override
    public void recordBatch(int batchSize) {
        int most = rest().share(replicas, 0).length();
        taken = (int) Math.min((long) taken + batchSize, most);
    }

    /** The rows of the epoch that were seen before count as so much of it, and the batches of the pass share the rest evenly. */
    @Override
    public double progress(int batchSize, int done, int batches) {
        double left = datasetSize() == 0 ? 0 : rest().length() / (double) datasetSize();
        return batches == 0 ? 1 : 1 - left + left * done / batches;
    }

    @Override
    public Map<String, String> saveState() {
        return Map.of(
                StateWords.KIND,
                "RowGroupSampler",
                EPOCH,
                String.valueOf(epoch),
                SEEN,
                seen().toString(),
                SAMPLES,
                String.valueOf(datasetSize()),
                BLOCKS,
                checksum(),
                SEED,
                String.valueOf(seed),
                SHUFFLE,
                String.valueOf(shuffle),
                WINDOW,
                String.valueOf(window));
    }

    /** Tells these blocks from others of as many rows. */
    private String checksum() {
        ByteBuffer bytes = ByteBuffer.allocate(firsts.length * Integer.BYTES);
        bytes.asIntBuffer().put(firsts);
        CRC32 checksum = new CRC32();
        checksum.update(bytes);
        return Long.toHexString(checksum.getValue());
    }

    /** Other files, blocks of other sizes, another seed and another window are refused, since the order would be another one. */
    @Override
    public void loadState(Map<String, String> state) {
        StateWords words = new StateWords("a RowGroupSampler", state);
        words.requireKind("RowGroupSampler", Set.of());
        Map<String, String> own = saveState();
        FIXED.forEach(key -> words.require(key, own.get(key)));
        int savedEpoch = words.whole(EPOCH, Integer.MAX_VALUE);
        start(savedEpoch, SeenRows.parse(state.get(SEEN)));
    }

    /** Settings of a {@link RowGroupSampler}; the same on every rank. */
    public static final class Builder {
        private final RowBlocks blocks;
        private final int cachedBlocks;
        private final int replicas;
        private final int rank;
        private boolean shuffle = true;
        private long seed;
        private int window = 4;
        private boolean padded = true;

        private Builder(RowDataset<?> rows, int replicas, int rank) {
            blocks = rows.blocks();
            cachedBlocks = rows.cachedBlocks();
            this.replicas = replicas;
            this.rank = rank;
        }

        /** Without shuffling every epoch has the order of the files. */
        public Builder shuffle(boolean shuffled) {
            shuffle = shuffled;
            return this;
        }

        /** Sets the seed, which must be the same on every rank. */
        public Builder seed(long number) {
            seed = number;
            return this;
        }

        /** Among the rows of how many blocks it shuffles: as many are in memory at a time, so the data set must keep at least these. */
        public Builder window(int ofBlocks) {
            window = ofBlocks;
            return this;
        }

        /** Whether rows are repeated so that every rank has as many. */
        public Builder padded(boolean repeats) {
            padded = repeats;
            return this;
        }

        /**
         * Makes the sampler.
         *
         * @throws HvdException with {@link ErrorId#BAD_ARGUMENT} if the data set keeps fewer blocks than a window has
         */
        public RowGroupSampler build() {
            if (window < 1 || window > cachedBlocks) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "a RowGroupSampler with a window of " + window + " blocks: expected 1 to the " + cachedBlocks
                                + " that its data set keeps (cachedBlocks)");
            }
            return new RowGroupSampler(this);
        }
    }
}
