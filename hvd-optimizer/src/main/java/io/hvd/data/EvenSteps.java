package io.hvd.data;

import java.util.Arrays;

/** Makes of this rank's samples as many batches as has been agreed on at the start of an epoch. */
record EvenSteps(EpochLengths lengths, int batchSize, boolean dropLast) {
    /** This rank's samples of one epoch, and in how many batches. */
    record Share(int[] order, int batches) {}

    /**
     * The rest of an epoch is compared as if one batch of it were still to come: a rank that has none left has had some, which it can
     * repeat, and an epoch of which only its uneven end is left may be over.
     */
    Share agreed(Share mine, Sampler sampler) {
        int[] order = mine.order();
        int had = sampler.isRest() ? 1 : 0;
        EpochLengths.Agreed agreed = lengths.agree(mine.batches() + had, order.length + had * batchSize);
        int batches = agreed.batches() - had;
        if (batches <= mine.batches()) {
            return new Share(order, batches);
        }
        int length = length(batches, agreed.mostSamples() - had * batchSize);
        return new Share(padded(order, length, sampler.repeatable()), batches);
    }

    /** As many samples as the rank with most has, if that fits; so a last batch that is not full stays so. */
    private int length(int batches, int mostSamples) {
        long full = (long) batches * batchSize;
        long least = dropLast ? full : full - batchSize + 1;
        return Math.toIntExact(Math.max(least, Math.min(full, mostSamples)));
    }

    private static int[] padded(int[] order, int length, int[] repeatable) {
        int[] padded = Arrays.copyOf(order, length);
        for (int i = order.length; i < length; i++) {
            padded[i] = repeatable[(i - order.length) % repeatable.length];
        }
        return padded;
    }
}
