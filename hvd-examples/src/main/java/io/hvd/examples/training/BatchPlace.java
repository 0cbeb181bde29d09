package io.hvd.examples.training;

/**
 * The place of a batch in its epoch; counted from 0.
 *
 * @param batches of this pass over the data
 * @param passesPerStep batches whose gradients are added up for one step
 */
public record BatchPlace(int epoch, int batch, int batches, int passesPerStep) {
    /** The share of this pass over the data that was done before. */
    public double done() {
        return batch / (double) batches;
    }

    /** Whether this batch is the first one of its step. */
    public boolean isFirstPass() {
        return batch % passesPerStep == 0;
    }

    /** Whether the step comes after this batch; the last step of a pass over the data may have fewer batches. */
    public boolean isLastPass() {
        return (batch + 1) % passesPerStep == 0 || isLast();
    }

    /** The number of batches of this step. */
    public int passesOfStep() {
        return Math.min(passesPerStep, batches - (batch - batch % passesPerStep));
    }

    /** Whether this pass over the data ends with this batch. */
    public boolean isLast() {
        return batch + 1 == batches;
    }
}
