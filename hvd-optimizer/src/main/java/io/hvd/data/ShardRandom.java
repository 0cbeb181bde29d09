package io.hvd.data;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/**
 * Random numbers that stay the same when a training goes on with another number of ranks. They belong to logical shards, whose
 * number is fixed when the training first begins: the numbers of a shard in a step follow from the seed, the step and the shard alone. The
 * shards are dealt to the ranks that there are, shard s to rank s mod R, so each is drawn by one rank, and no generator has a
 * position that a checkpoint would have to hold.
 *
 * <pre>{@code
 * var random = new ShardRandom(seed, 64);
 * Checkpoints.in(folder, hvd, optimizer).with("random", random)...
 * for (int shard : random.shards(hvd.rank(), hvd.size())) {
 *     augment(partOf(batch, shard), random.of(step, shard));
 * }
 * }</pre>
 *
 * <p>The seeds come from {@link SplitMix64}, so they are the same on every JVM.
 */
public final class ShardRandom implements Stateful {
    private static final String SEED = "seed";
    private static final String SHARDS = "shards";

    private final int shards;
    private long seed;

    /**
     * @param seed the same on every rank
     * @param shards at least as many as ranks will ever take part, so that each has one; the same on every rank and in every run
     */
    public ShardRandom(long seed, int shards) {
        if (shards < 1) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "ShardRandom of " + shards + " logical shards: expected at least 1");
        }
        this.seed = seed;
        this.shards = shards;
    }

    /** The logical shards of a rank, in ascending order; none if there are fewer shards than ranks before it. */
    public int[] shards(int rank, int ranks) {
        if (rank < 0 || rank >= ranks) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the shards of rank " + rank + " of " + ranks + ": expected 0 to the last rank");
        }
        return IntStream.iterate(rank, shard -> shard < shards, shard -> shard + ranks)
                .toArray();
    }

    /** A generator of its own, at its beginning each time it is asked for. Its {@code nextLong()} is that of {@link SplitMix64}. */
    public RandomGenerator of(long step, int shard) {
        return new SplitMix64(seedOf(step, shard))::nextLong;
    }

    /** A seed for a generator of the program's own, such as a native library's. */
    public long seedOf(long step, int shard) {
        if (shard < 0 || shard >= shards) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "logical shard " + shard + " of " + shards + ": expected 0 to " + (shards - 1));
        }
        return mix(mix(mix(seed) + step) + shard);
    }

    private static long mix(long number) {
        return new SplitMix64(number).nextLong();
    }

    @Override
    public Map<String, String> saveState() {
        return Map.of(StateWords.KIND, "ShardRandom", SEED, String.valueOf(seed), SHARDS, String.valueOf(shards));
    }

    /** Takes over the seed. Another number of shards is refused. */
    @Override
    public void loadState(Map<String, String> state) {
        StateWords words = new StateWords("a ShardRandom", state);
        words.requireKind("ShardRandom", Set.of(SEED, SHARDS));
        words.require(SHARDS, String.valueOf(shards));
        seed = words.wholeOf64Bits(SEED);
    }
}
