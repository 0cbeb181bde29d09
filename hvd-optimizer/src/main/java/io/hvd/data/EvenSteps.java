package io.hvd.data;

/** Makes of this rank's samples as many batches as has been agreed on at the start of an epoch. */
record EvenSteps(EpochLengths lengths, int batchSize, boolean dropLast) {
    /** This rank's samples of one epoch, and in how many batches. */
    record Share(int[] order, int batches) {}

    Share agreed(Share mine) {
        int[] order = mine.order();
        EpochLengths.Agreed agreed = lengths.agree(mine.batches(), order.length);
        int batches = agreed.batches();
        boolean lacksSome = batches > mine.batches();
        return new Share(lacksSome ? padded(order, length(batches, agreed.mostSamples())) : order, batches);
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
