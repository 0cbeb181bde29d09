package io.hvd.optimizer.reduce;

/** Columns of a thin matrix, one after the other in an array. */
final class Columns {
    /** The rest of a column that the ones before it make up is nothing but rounding, and no direction. */
    private static final double LEAST_LEFT = 1e-6;

    private Columns() {}

    static double length(float[] columns, int from, int to) {
        double squares = 0;
        for (int i = from; i < to; i++) {
            squares += (double) columns[i] * columns[i];
        }
        return Math.sqrt(squares);
    }

    /** See {@link #orthonormalise(float[], int, int, int, double)}, for a whole array. */
    static void orthonormalise(float[] all, int columns, double epsilon) {
        orthonormalise(all, 0, all.length / columns, columns, epsilon);
    }

    /**
     * Makes columns orthonormal by Gram and Schmidt's method, twice for each, since once is not exact in float32. A column that
     * depends on those before it becomes zero.
     *
     * @param epsilon added to the length by which a column is divided
     */
    static void orthonormalise(float[] all, int at, int length, int columns, double epsilon) {
        for (int column = 0; column < columns; column++) {
            int from = at + column * length;
            double before = length(all, from, from + length);
            for (int time = 0; time < 2; time++) {
                for (int other = 0; other < column; other++) {
                    subtractProjection(all, from, at + other * length, length);
                }
            }
            double left = length(all, from, from + length);
            double factor = left <= LEAST_LEFT * before ? 0 : 1 / (left + epsilon);
            for (int i = from; i < from + length; i++) {
                all[i] = (float) (all[i] * factor);
            }
        }
    }

    private static void subtractProjection(float[] all, int column, int unit, int length) {
        double product = 0;
        for (int i = 0; i < length; i++) {
            product += (double) all[column + i] * all[unit + i];
        }
        for (int i = 0; i < length; i++) {
            all[column + i] = (float) (all[column + i] - product * all[unit + i]);
        }
    }
}
