package io.hvd.data;

/**
 * Seeded shuffles: Fisher-Yates (in Durstenfeld's form, from the last place down) on {@link SplitMix64}.
 *
 * <p>The order for a size and a seed never changes between JVMs, machines or releases of ours. It is not the order that
 * PyTorch or Python's {@code random} give for the same seed.
 */
public final class Permutation {

    private Permutation() {}

    /**
     * The numbers 0..size-1, shuffled.
     *
     * @throws IllegalArgumentException if the size is negative
     */
    public static int[] of(int size, long seed) {
        int[] order = identity(size);
        var random = new SplitMix64(seed);
        for (int last = size - 1; last > 0; last--) {
            int chosen = random.nextInt(last + 1);
            int swapped = order[last];
            order[last] = order[chosen];
            order[chosen] = swapped;
        }
        return order;
    }

    /** The numbers 0..size-1 in order. */
    static int[] identity(int size) {
        if (size < 0) {
            throw new IllegalArgumentException("size must not be negative, found " + size);
        }
        int[] order = new int[size];
        for (int i = 0; i < size; i++) {
            order[i] = i;
        }
        return order;
    }
}
