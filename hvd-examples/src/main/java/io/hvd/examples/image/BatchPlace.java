package io.hvd.examples.image;

/**
 * Where a batch stands in its epoch; counted from 0.
 *
 * @param batches of this pass over the data
 * @param passesPerStep batches whose gradients are added up for one step
 */
record BatchPlace(int epoch, int batch, int batches, int passesPerStep) {
    /** The share of this pass over the data that was done before. */
    double done() {
        return batch / (double) batches;
    }

    boolean isFirstPass() {
        return batch % passesPerStep == 0;
    }

    boolean isLastPass() {
        return (batch + 1) % passesPerStep == 0 || isLast();
    }

    boolean isLast() {
        return batch + 1 == batches;
    }
}
