package io.hvd.data;

import java.util.Arrays;

/**
 * Cuts samples, sorted by complexity, into runs of groups of one sample per replica, and shuffles the runs. Which samples a run has depends
 * on their number alone, so that two replicas and four have the same runs if these are as long.
 *
 * @param together how many groups a run has; 1 shuffles each of them by itself
 */
record ComplexityGroups(long[] complexities, int replicas, double randomLevel, int together) {
    /** Sorting keys keep this many bits of a complexity, so that with their noise and a place they fit a long. */
    private static final int KEY_BITS = 30;

    /** Makes the random numbers differ from those of the permutation with the same seed. */
    private static final long STREAM = 0x5851F42D4C957F2DL;

    /**
     * The samples group by group. If they do not fill the runs, one run, at random, is short and comes last; if its last group is short, that
     * group's own samples are repeated in it, as often as it takes.
     */
    int[] order(long seed) {
        int[] sorted = sorted(seed);
        var random = new SplitMix64(seed ^ STREAM);
        int run = (int) Math.min(Integer.MAX_VALUE, (long) replicas * together);
        int whole = sorted.length / run;
        int over = sorted.length % run;
        int shortOne = over == 0 ? whole : random.nextInt(whole + 1);
        int groups = sorted.length / replicas + (sorted.length % replicas == 0 ? 0 : 1);
        int[] order = new int[Math.multiplyExact(groups, replicas)];
        int[] places = Permutation.of(whole, random.nextLong());
        for (int i = 0; i < whole; i++) {
            copyGroups(sorted, i * run + (i < shortOne ? 0 : over), run, order, places[i] * run, random);
        }
        copyGroups(sorted, shortOne * run, over, order, whole * run, random);
        return order;
    }

    private void copyGroups(int[] from, int start, int count, int[] to, int place, SplitMix64 random) {
        int group = 0;
        for (; group + replicas <= count; group += replicas) {
            copyShuffled(from, start + group, replicas, to, place + group, random);
        }
        int over = count - group;
        if (over > 0) {
            copyShuffled(from, start + group, over, to, place + group, random);
            for (int i = place + group + over; i < to.length; i++) {
                to[i] = to[i - over];
            }
        }
    }

    /** The samples by complexity; the permutation decides between equal ones. */
    private int[] sorted(long seed) {
        int[] permutation = Permutation.of(complexities.length, seed);
        long least = Arrays.stream(complexities).min().orElse(0);
        long range = Arrays.stream(complexities).max().orElse(0) - least;
        int shift = Math.max(0, Long.SIZE - Long.numberOfLeadingZeros(range) - KEY_BITS);
        double noise = randomLevel * (range >>> shift);
        var random = new SplitMix64(~seed ^ STREAM);
        long[] keys = new long[permutation.length];
        for (int i = 0; i < keys.length; i++) {
            long key = (complexities[permutation[i]] - least) >>> shift;
            keys[i] = key + (long) (noise * random.nextDouble()) << Integer.SIZE | i;
        }
        Arrays.sort(keys);
        return Arrays.stream(keys).mapToInt(key -> permutation[(int) key]).toArray();
    }

    private static void copyShuffled(int[] from, int start, int count, int[] to, int place, SplitMix64 random) {
        int[] shuffled = Permutation.of(count, random.nextLong());
        for (int i = 0; i < count; i++) {
            to[place + i] = from[start + shuffled[i]];
        }
    }
}
