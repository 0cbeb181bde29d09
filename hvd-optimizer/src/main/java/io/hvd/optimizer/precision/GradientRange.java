package io.hvd.optimizer.precision;

/**
 * Keeps the gradients of one optimizer within the range of the type in which they travel. The exchange of gradients calls it under its
 * lock.
 */
public sealed interface GradientRange permits WireRange, GradientRange.Untouched {
    /** Gradients travel as they are. */
    GradientRange UNTOUCHED = new Untouched();

    /**
     * A gradient is about to travel, the first of a step or a later one.
     *
     * @return whether other gradients than before travel in their own type
     */
    boolean begin();

    /** A gradient is complete and about to travel. */
    void leaving(int parameter);

    /** All gradients are averages, the same on all ranks. */
    void arrived();

    /** An exchange has failed or is given up; the gradients that it has left alone are what they were. */
    void undo();

    /** Waits for what the last step has asked the other ranks, and draws the conclusions. */
    void settle();

    /** Without range control. */
    record Untouched() implements GradientRange {
        @Override
        public boolean begin() {
            return false;
        }

        @Override
        public void leaving(int parameter) {}

        @Override
        public void arrived() {}

        @Override
        public void undo() {}

        @Override
        public void settle() {}
    }
}
