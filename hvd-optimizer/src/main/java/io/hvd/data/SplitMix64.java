package io.hvd.data;

/**
 * A small random generator whose sequence is part of our contract: the same seed gives the same numbers on every JVM of
 * every version, so that all ranks shuffle alike and a run can be repeated years later.
 *
 * <p>SplitMix64 adds a constant to a 64-bit counter and mixes the bits of the sum. Source: G. L. Steele, D. Lea, C. H.
 * Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, with the mixing constants of D. Stafford
 * (variant 13). Good for shuffling and synthetic data, not for secrets.
 *
 * <p>Not thread-safe: one generator per thread, or per sample.
 */
public final class SplitMix64 {

    /** 2^64 divided by the golden ratio, rounded to an odd number: every 64-bit state is visited once. */
    private static final long GOLDEN_GAMMA = 0x9E3779B97F4A7C15L;

    private static final long LOW_32_BITS = 0xFFFFFFFFL;

    private long state;

    /** A generator whose numbers follow from the seed alone. */
    public SplitMix64(long seed) {
        state = seed;
    }

    /** Uniform over all 2^64 values. */
    public long nextLong() {
        state += GOLDEN_GAMMA;
        long z = state;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    /**
     * Uniform over 0..bound-1, without the bias of a remainder: the upper 32 bits of a draw are multiplied by the bound,
     * and the few draws that would make some values likelier are drawn again (D. Lemire, "Fast Random Integer
     * Generation in an Interval", ACM TOMACS 29(1), 2019).
     *
     * @throws IllegalArgumentException if the bound is not positive
     */
    public int nextInt(int bound) {
        if (bound <= 0) {
            throw new IllegalArgumentException("bound must be positive, found " + bound);
        }
        long unevenDraws = (LOW_32_BITS + 1) % bound;
        long product;
        do {
            product = (nextLong() >>> 32) * bound;
        } while ((product & LOW_32_BITS) < unevenDraws);
        return (int) (product >>> 32);
    }

    /** Uniform over [0, 1) in steps of 2^-53. */
    public double nextDouble() {
        return (nextLong() >>> 11) * 0x1p-53;
    }
}
