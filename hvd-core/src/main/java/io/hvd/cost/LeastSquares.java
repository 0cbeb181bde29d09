package io.hvd.cost;

import java.util.Arrays;

/**
 * The few unknowns of a linear model, none of them negative, that come closest to what was measured. Tries which of them
 * are zero, all combinations, which is exact and cheap for so few.
 */
final class LeastSquares {
    /** Columns that say nearly the same cannot be told apart. */
    private static final double SINGULAR = 1e-9;

    private LeastSquares() {}

    /** @param error sum of the squares that remain */
    record Solution(double[] unknowns, double error) {}

    /** @param rows of coefficients, each of which should come to 1 */
    static Solution solve(double[][] rows) {
        int columns = rows[0].length;
        Solution best = new Solution(new double[columns], rows.length);
        for (int some = 1; some < 1 << columns; some++) {
            int[] chosen = chosen(some, columns);
            double[] values = normalEquations(rows, chosen);
            if (values.length > 0 && Arrays.stream(values).allMatch(value -> value >= 0)) {
                Solution here = spread(rows, chosen, values);
                best = here.error < best.error ? here : best;
            }
        }
        return best;
    }

    private static int[] chosen(int some, int columns) {
        return java.util.stream.IntStream.range(0, columns)
                .filter(column -> (some >> column & 1) == 1)
                .toArray();
    }

    private static Solution spread(double[][] rows, int[] chosen, double[] values) {
        double[] unknowns = new double[rows[0].length];
        for (int i = 0; i < chosen.length; i++) {
            unknowns[chosen[i]] = values[i];
        }
        double error = 0;
        for (double[] row : rows) {
            double rest = -1;
            for (int column = 0; column < row.length; column++) {
                rest += row[column] * unknowns[column];
            }
            error += rest * rest;
        }
        return new Solution(unknowns, error);
    }

    /** Empty if they have no single solution. */
    private static double[] normalEquations(double[][] rows, int[] chosen) {
        int n = chosen.length;
        double[] lengths = new double[n];
        for (double[] row : rows) {
            for (int i = 0; i < n; i++) {
                lengths[i] = Math.hypot(lengths[i], row[chosen[i]]);
            }
        }
        double[][] equations = new double[n][n + 1];
        for (double[] row : rows) {
            for (int i = 0; i < n; i++) {
                double mine = row[chosen[i]] / lengths[i];
                for (int j = 0; j < n; j++) {
                    equations[i][j] += mine * row[chosen[j]] / lengths[j];
                }
                equations[i][n] += mine;
            }
        }
        double[] values = eliminate(equations);
        for (int i = 0; i < values.length; i++) {
            values[i] /= lengths[i];
        }
        return values;
    }

    /** Gauss and Jordan, with the largest pivot of each column. */
    private static double[] eliminate(double[][] equations) {
        int n = equations.length;
        for (int column = 0; column < n; column++) {
            swapInLargest(equations, column);
            double pivot = equations[column][column];
            if (!(Math.abs(pivot) > SINGULAR)) {
                return new double[0];
            }
            for (int row = 0; row < n; row++) {
                double times = row == column ? 0 : equations[row][column] / pivot;
                for (int i = column; times != 0 && i <= n; i++) {
                    equations[row][i] -= times * equations[column][i];
                }
            }
        }
        double[] values = new double[n];
        Arrays.setAll(values, i -> equations[i][n] / equations[i][i]);
        return values;
    }

    private static void swapInLargest(double[][] equations, int column) {
        int largest = column;
        for (int row = column + 1; row < equations.length; row++) {
            if (Math.abs(equations[row][column]) > Math.abs(equations[largest][column])) {
                largest = row;
            }
        }
        double[] swapped = equations[column];
        equations[column] = equations[largest];
        equations[largest] = swapped;
    }
}
