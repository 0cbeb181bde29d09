package io.hvd.train.loop;

import io.hvd.data.EpochBatches;

/** Where a loop is: its epoch, the batch within that, and the steps of all epochs. For the thread that trains. */
public final class Position {
    private int batches;
    /** Null for data that does not know its number of batches. */
    private EpochBatches.Pass<?> pass;

    private int epoch;
    private int batch;
    private long steps;
    private long stepsResumed;
    /** The part of the epoch under way that was done before it was resumed. */
    private double doneBefore;

    public Position(int batches) {
        this.batches = batches;
    }

    /** The batches of an epoch; of a loader, whose epochs may differ, those of the epoch from its first batch on. */
    public int batches() {
        return batches;
    }

    public int epoch() {
        return epoch;
    }

    public int batch() {
        return batch;
    }

    public long steps() {
        return steps;
    }

    public long stepsResumed() {
        return stepsResumed;
    }

    /** The epoch and the part of it that is done. */
    public double progress() {
        if (pass != null && (doneBefore == 0 || pass.progress(0, batches) > 0)) {
            return epoch + pass.progress(batch, batches);
        }
        double ofPass = batches == 0 ? 1 : batch / (double) batches;
        return epoch + doneBefore + (1 - doneBefore) * ofPass;
    }

    /** Whether the last batch of the epoch under way is done. */
    public boolean isAtEndOfEpoch() {
        return batch > 0 && batch == batches;
    }

    /** Goes on where another run has ended. */
    public void resumeAt(int atEpoch, double done, long stepsBefore) {
        epoch = atEpoch;
        doneBefore = done;
        steps = stepsBefore;
        stepsResumed = stepsBefore;
    }

    public void beginEpoch(int number) {
        doneBefore = number == epoch ? doneBefore : 0;
        pass = null;
        epoch = number;
        batch = 0;
    }

    /** Sets the number of batches of the epoch that has begun. @param of null for data that does not know it */
    public void batches(int ofEpoch, EpochBatches.Pass<?> of) {
        batches = ofEpoch;
        pass = of;
    }

    public void endBatch() {
        batch++;
        steps++;
    }

    /** All ranks have as many steps as the one with most. */
    public void joined() {
        steps += batches - batch;
        batch = batches;
    }

    /** No epoch follows. */
    public void end(int epochsDone) {
        epoch = epochsDone;
    }
}
