package io.hvd.data;

import java.util.Arrays;

/**
 * Cuts samples, sorted by complexity, into groups of one sample per replica, and shuffles the groups.
 *
 * @param together how many groups stay beside each other; 1 shuffles each of them by itself
 */
record ComplexityGroups(long[] complexities, int replicas, double randomLevel, int together) {
    /** Sorting keys keep this many bits of a complexity, so that with their noise and a place they fit a long. */
    private static final int KEY_BITS = 30;

    /** Makes the random numbers differ from those of the permutation with the same seed. */
    private static final long STREAM = 0x5851F42D4C957F2DL;

    /**
     * The samples group by group. If the last group is short, its own samples are repeated in it, as often as it takes.
     */
    int[] order(long seed) {
        int[] sorted = sorted(seed);
        var random = new SplitMix64(seed ^ STREAM);
        int whole = sorted.length / replicas;
        int over = sorted.length % replicas;
        int[] order = new int[Math.multiplyExact(over == 0 ? whole : whole + 1, replicas)];
        int shortOne = over == 0 ? whole : random.nextInt(whole + 1);
        int[] places = places(whole, random);
        for (int group = 0; group < whole; group++) {
            int from = group * replicas + (group < shortOne ? 0 : over);
            copyShuffled(sorted, from, replicas, order, places[group] * replicas, random);
        }
        if (over > 0) {
            int last = whole * replicas;
            copyShuffled(sorted, shortOne * replicas, over, order, last, random);
            for (int i = last + over; i < order.length; i++) {
                order[i] = order[i - over];
            }
        }
        return order;
    }

    /** Where each group goes. A run of fewer groups than stay together, at random, goes last. */
    private int[] places(int groups, SplitMix64 random) {
        int runs = groups / together;
        int over = groups % together;
        int shortOne = over == 0 ? runs : random.nextInt(runs + 1);
        int[] runPlaces = Permutation.of(runs, random.nextLong());
        int[] places = new int[groups];
        for (int group = 0; group < groups; group++) {
            int behind = group - shortOne * together;
            int inWhole = behind < 0 ? group : group - over;
            places[group] = behind >= 0 && behind < over
                    ? runs * together + behind
                    : runPlaces[inWhole / together] * together + inWhole % together;
        }
        return places;
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
