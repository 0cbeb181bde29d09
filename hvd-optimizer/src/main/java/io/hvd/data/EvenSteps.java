package io.hvd.data;

import io.hvd.ProcessSet;

/** Has the ranks agree at the start of an epoch how many batches each of them makes, and pads this rank's samples to it. */
record EvenSteps(ProcessSet set, UnevenSteps otherwise, int batchSize, boolean dropLast) {
    /** This rank's samples of one epoch, and in how many batches. */
    record Share(int[] order, int batches) {}

    /** A collective. */
    Share agreed(Share mine) {
        int[] order = mine.order();
        StepCounts counts = StepCounts.gather(set, mine.batches(), order.length);
        int batches = counts.agreed(otherwise, mine.batches());
        return new Share(
                batches > mine.batches() ? padded(order, length(batches, counts.mostSamples())) : order, batches);
    }

    /** As many samples as the rank with most has, if that fits; so a last batch that is not full stays so. */
    private int length(int batches, int mostSamples) {
        long full = (long) batches * batchSize;
        long least = dropLast ? full : full - batchSize + 1;
        return Math.toIntExact(Math.max(least, Math.min(full, mostSamples)));
    }

    private static int[] padded(int[] order, int length) {
        int[] padded = new int[length];
        for (int i = 0; i < length; i++) {
            padded[i] = order[i % order.length];
        }
        return padded;
    }
}
