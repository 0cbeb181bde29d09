package io.hvd.optimizer.reduce;

import java.util.Random;

/** Draws the columns from which a matrix is searched. */
final class RandomBasis {
    private RandomBasis() {}

    /**
     * Draws those columns that are zero: all of them at first, later those in which a gradient had nothing.
     *
     * @param basis one column after the other
     * @param seed the same on all ranks
     */
    static void fillEmpty(float[] basis, int columns, long seed) {
        Random random = new Random(seed);
        int length = basis.length / columns;
        for (int column = 0; column < columns; column++) {
            int from = column * length;
            boolean empty = Columns.length(basis, from, from + length) == 0;
            for (int i = from; i < from + length; i++) {
                float drawn = (float) random.nextGaussian();
                basis[i] = empty ? drawn : basis[i];
            }
        }
    }
}
