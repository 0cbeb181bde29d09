package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/**
 * When and how the ranks' buffers become the same. Buffers are what a training changes without a gradient, such as the running
 * statistics of a batch norm, which follow each rank's own batches.
 *
 * @param mean true for the mean over the ranks, where the type is a floating-point one; otherwise all ranks take the buffers of
 *     the first rank of the process set
 * @param everySteps number of steps after which it happens by itself; 0 for never
 */
public record BufferSync(boolean mean, int everySteps) {
    /** @throws HvdException if the number of steps is negative */
    public BufferSync {
        requireAtLeast(0, everySteps);
    }

    /** The first rank's buffers, after every so many steps; 1 is what torch's DistributedDataParallel does. */
    public static BufferSync everySteps(int steps) {
        return new BufferSync(false, requireAtLeast(1, steps));
    }

    /** The first rank's buffers, but only in {@link DistributedOptimizer#synchronizeBuffers()}. */
    public static BufferSync beforeCheckpoint() {
        return new BufferSync(false, 0);
    }

    /** The mean of all ranks' buffers, after every so many steps. */
    public static BufferSync meanEverySteps(int steps) {
        return new BufferSync(true, requireAtLeast(1, steps));
    }

    /** The mean of all ranks' buffers, but only in {@link DistributedOptimizer#synchronizeBuffers()}. */
    public static BufferSync meanBeforeCheckpoint() {
        return new BufferSync(true, 0);
    }

    private static int requireAtLeast(int least, int steps) {
        if (steps < least) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "BufferSync every " + steps + " steps: expected " + least + " or more");
        }
        return steps;
    }
}
