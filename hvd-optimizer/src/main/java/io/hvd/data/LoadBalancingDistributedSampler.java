package io.hvd.data;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/**
 * Deals samples of similar complexity to the ranks at the same time, where samples differ much in the work they make, such
 * as texts or sequences of different lengths: no rank waits in a step for one with longer samples. The name and the two
 * arguments are Bagua's.
 *
 * <p>In each epoch the samples are sorted by complexity, equal ones in a random order, and cut into groups of one sample per
 * rank. The groups come in a random order, and it is random which rank gets which sample of a group. A batch of B samples
 * is B groups, so both the sum and the maximum of its complexities are close to those of the other ranks' batches; the
 * samples within a batch may differ, unless {@link Builder#batchesOf} keeps B neighbours together, so that little is padded. A {@link
 * Builder#randomLevel random level} above 0 mixes the groups themselves.
 *
 * <p>Every rank gets the same number of samples. Where the ranks do not divide them, one group, at random, is short. It
 * comes last, and its own samples are repeated for the ranks that lack one; with {@code dropLast} it is left out.
 *
 * <p>The order follows from complexities, seed and epoch alone, which must be the same on every rank.
 *
 * <p><b>Resuming.</b> It goes on in the middle of an epoch, as {@link ElasticSampler} does: with as many ranks in the very order of a run
 * that was not interrupted. With another number of ranks, the samples that are left are sorted and cut into groups anew, so that each is
 * dealt once and none that was seen before.
 */
public final class LoadBalancingDistributedSampler implements ResumableSampler {
    private static final String EPOCH = "epoch";
    private static final String SEEN = "seen";
    private static final String BATCH_SIZE = "batch_size";
    private static final Set<String> MOVING = Set.of(EPOCH, SEEN, BATCH_SIZE);

    private Shard shard;
    private final long[] complexities;
    private final double randomLevel;
    private final int together;
    private final long seed;
    private final boolean dropLast;

    /** It tells these complexities from others in a saved state; null before the first one. */
    private String checksum;

    private int epoch;
    private boolean begun;
    /** The samples of the epoch that runs with other numbers of ranks have seen. */
    private List<Stretch> stretches = List.of();
    /** Samples that were seen before the pass under way began, in the order for as many ranks as now. */
    private int from;
    /** Samples of that order that all ranks together have seen. */
    private int position;
    /** Size of the batches that the epoch was dealt in, by as many ranks as now; 0 before the first one, -1 if it has changed. */
    private int dealtBatch;

    private LoadBalancingDistributedSampler(Builder builder) {
        shard = builder.shard;
        complexities = builder.complexities;
        randomLevel = builder.randomLevel;
        together = builder.together;
        seed = builder.seed;
        dropLast = builder.dropLast;
    }

    /** The number of samples that were seen in the order of what was left, for some number of ranks. */
    private record Stretch(int replicas, int samples, int together) {
        @Override
        public String toString() {
            return replicas + ":" + samples + (together == 1 ? "" : ":" + together);
        }
    }

    /**
     * @param complexities of each sample, such as its length; 0 or more, and the same on every rank
     * @throws IllegalArgumentException if a complexity is negative, or the rank is outside [0, replicas - 1]
     */
    public static Builder builder(long[] complexities, int replicas, int rank) {
        return new Builder(new Shard(complexities.length, replicas, rank), complexities.clone());
    }

    /**
     * For an elastic job, whose ranks are not known yet: deals to one rank until {@link #deal} says to how many. A {@code TrainingState}
     * calls it in each generation.
     */
    public static Builder builder(long[] complexities) {
        return builder(complexities, 1, 0);
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
    public void deal(int replicas, int rank) {
        Map<String, String> seen = saveState();
        shard = new Shard(datasetSize(), replicas, rank);
        loadState(seen);
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
        return whole(left()) - from / shard.replicas();
    }

    /** Samples of each rank if the epoch is not interrupted any more. @param samples samples that runs with other numbers of ranks have left */
    private int whole(int samples) {
        Shard deal = new Shard(samples, shard.replicas(), shard.rank());
        return dropLast ? deal.roundedDown() : deal.roundedUp();
    }

    /** The number of samples that runs with other numbers of ranks have left. */
    private int left() {
        return datasetSize() - stretches.stream().mapToInt(Stretch::samples).sum();
    }

    @Override
    public int padding() {
        int exact = new Shard(left(), shard.replicas(), shard.rank()).exact();
        return Math.max(0, whole(left()) - exact);
    }

    @Override
    public int epoch() {
        return epoch;
    }

    @Override
    public void setEpoch(int next) {
        if (next < 0) {
            throw new IllegalArgumentException("epoch must not be negative, found " + next);
        }
        if (begun || next != epoch) {
            start(next);
        }
    }

    private void start(int next) {
        epoch = next;
        begun = false;
        stretches = List.of();
        from = 0;
        position = 0;
        dealtBatch = 0;
    }

    @Override
    public double done() {
        return datasetSize() == 0 ? 0 : (datasetSize() - left() + position) / (double) datasetSize();
    }

    @Override
    public boolean isRest() {
        return from > 0 || !stretches.isEmpty();
    }

    @Override
    public int[] indices() {
        int[] all = deal(order(unseen()), whole(left()));
        return Arrays.copyOfRange(all, from / shard.replicas(), all.length);
    }

    @Override
    public int[] repeatable() {
        return deal(order(IntStream.range(0, datasetSize()).toArray()), whole(datasetSize()));
    }

    private int[] deal(int[] order, int count) {
        return order.length == 0 ? new int[0] : shard.deal(order, count);
    }

    /** The samples that runs with other numbers of ranks have left. */
    private int[] unseen() {
        int[] samples = IntStream.range(0, datasetSize()).toArray();
        for (Stretch stretch : stretches) {
            int[] order = order(samples, stretch.replicas, stretch.together);
            samples = Arrays.copyOfRange(order, stretch.samples, samples.length); // repetitions stand behind them
            Arrays.sort(samples);
        }
        return samples;
    }

    private int[] order(int[] samples) {
        return order(samples, shard.replicas(), together);
    }

    private int[] order(int[] samples, int replicas, int beside) {
        long[] theirs =
                Arrays.stream(samples).mapToLong(index -> complexities[index]).toArray();
        int[] places = new ComplexityGroups(theirs, replicas, randomLevel, beside).order(seed + epoch);
        return Arrays.stream(places).map(place -> samples[place]).toArray();
    }

    @Override
    public int[] beginEpoch() {
        if (begun) {
            start(epoch + 1);
        }
        begun = true;
        return indices();
    }

    /** Counts a batch on every rank. A loader of hvd calls it; a loop of your own calls it once per batch, on every rank. */
    @Override
    public void recordBatch(int batchSize) {
        dealtBatch = dealtBatch == 0 || dealtBatch == batchSize ? batchSize : -1;
        long seen = position + (long) batchSize * shard.replicas();
        position = (int) Math.min(seen, dropLast ? (long) whole(left()) * shard.replicas() : left());
    }

    /** Counts batches where all of the epoch was dealt to as many ranks in batches of one size, and else samples. */
    @Override
    public double progress(int batchSize, int taken, int batches) {
        if (stretches.isEmpty() && (dealtBatch == batchSize || from == 0)) {
            long together = (long) batchSize * shard.replicas();
            long before = (from + together - 1) / together;
            return before + batches == 0 ? 1 : (before + taken) / (double) (before + batches);
        }
        double before = (datasetSize() - left() + from) / (double) datasetSize();
        return batches == 0 ? 1 : before + (1 - before) * taken / batches;
    }

    @Override
    public Map<String, String> saveState() {
        List<Stretch> seen = new ArrayList<>(stretches);
        seen.add(new Stretch(shard.replicas(), position, together));
        return Map.of(
                StateWords.KIND,
                "LoadBalancingDistributedSampler",
                EPOCH,
                String.valueOf(epoch),
                SEEN,
                seen.stream().map(Stretch::toString).collect(Collectors.joining(" ")),
                BATCH_SIZE,
                String.valueOf(Math.max(0, dealtBatch)),
                "samples",
                String.valueOf(datasetSize()),
                "complexities",
                checksum(),
                "seed",
                String.valueOf(seed),
                "random_level",
                String.valueOf(randomLevel),
                "drop_last",
                String.valueOf(dropLast));
    }

    private String checksum() {
        if (checksum == null) {
            CRC32 sum = new CRC32();
            ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES);
            for (long complexity : complexities) {
                sum.update(bytes.clear().putLong(complexity).flip());
            }
            checksum = Long.toHexString(sum.getValue());
        }
        return checksum;
    }

    @Override
    public void loadState(Map<String, String> state) {
        StateWords words = new StateWords("a LoadBalancingDistributedSampler", state);
        saveState().forEach((key, expected) -> {
            if (!MOVING.contains(key)) {
                words.require(key, expected);
            }
        });
        int savedEpoch = words.whole(EPOCH, Integer.MAX_VALUE);
        int savedBatch = words.whole(BATCH_SIZE, Integer.MAX_VALUE);
        List<Stretch> seen = stretches(words);
        start(savedEpoch);
        Stretch last = seen.get(seen.size() - 1);
        if (last.replicas == shard.replicas() && last.together == together) {
            stretches = notEmpty(seen.subList(0, seen.size() - 1));
            position = last.samples;
            from = position < left() ? position : whole(left()) * shard.replicas(); // the last ones are repetitions
            dealtBatch = savedBatch;
        } else {
            stretches = notEmpty(seen);
        }
    }

    private static List<Stretch> notEmpty(List<Stretch> seen) {
        return seen.stream().filter(one -> one.samples > 0).toList();
    }

    private List<Stretch> stretches(StateWords words) {
        List<Stretch> seen = new ArrayList<>();
        int left = datasetSize();
        for (String one : words.words().getOrDefault(SEEN, "").split(" ")) {
            String[] parts = one.split(":", -1);
            boolean complete = parts.length == 2 || parts.length == 3;
            Map<String, String> all = Map.of(
                    "ranks",
                    parts[0],
                    "samples",
                    complete ? parts[1] : "",
                    "together",
                    parts.length == 3 ? parts[2] : "1");
            StateWords numbers = new StateWords("a LoadBalancingDistributedSampler, in \"seen\"", all);
            Stretch stretch = new Stretch(
                    Math.max(1, numbers.whole("ranks", Integer.MAX_VALUE)),
                    numbers.whole("samples", left),
                    Math.max(1, numbers.whole("together", Integer.MAX_VALUE)));
            seen.add(stretch);
            left -= stretch.samples;
        }
        return seen;
    }

    /** Begins with randomLevel = 0, seed = 0, dropLast = false. */
    public static final class Builder {
        private final Shard shard;
        private final long[] complexities;
        private double randomLevel;
        private int together = 1;
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

        /**
         * Keeps samples of like complexity together in each batch, as torch's length grouping does: a step then has the batchSize times
         * ranks samples that are neighbours by complexity, and the steps come in a random order; if the samples do not fill them, the last
         * one is short. For any number of ranks, steps of as many samples have the same ones.
         *
         * @param batchSize samples of a batch on each rank; 1, the default, mixes complexities in a batch
         * @throws IllegalArgumentException if it is not positive
         */
        public Builder batchesOf(int batchSize) {
            if (batchSize < 1) {
                throw new IllegalArgumentException("batchesOf needs at least 1 sample, found " + batchSize);
            }
            together = batchSize;
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
