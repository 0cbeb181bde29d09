package io.hvd.benchmarks.cost;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Finds the unknowns of a linear model, none of them negative, by least squares. It tries all combinations of unknowns
 * that are zero, which is exact, and cheap for a few unknowns.
 */
final class LeastSquares {
    /** The smallest pivot; below it, columns are so similar that their unknowns cannot be told apart. */
    private static final double SINGULAR = 1e-9;

    private LeastSquares() {}

    /** @param error sum of the squares of the errors */
    record Solution(double[] unknowns, double error) {}

    /** @param results the wanted product of each row of coefficients with the unknowns */
    static Solution solve(double[][] rows, double[] results) {
        int columns = rows[0].length;
        Solution best = spread(rows, results, new int[0], new double[0]);
        for (int some = 1; some < 1 << columns; some++) {
            int[] chosen = chosen(some, columns);
            double[] values = normalEquations(rows, results, chosen);
            if (values.length > 0 && Arrays.stream(values).allMatch(value -> value >= 0)) {
                Solution here = spread(rows, results, chosen, values);
                best = here.error < best.error ? here : best;
            }
        }
        return best;
    }

    private static int[] chosen(int some, int columns) {
        return IntStream.range(0, columns)
                .filter(column -> (some >> column & 1) == 1)
                .toArray();
    }

    private static Solution spread(double[][] rows, double[] results, int[] chosen, double[] values) {
        double[] unknowns = new double[rows[0].length];
        for (int i = 0; i < chosen.length; i++) {
            unknowns[chosen[i]] = values[i];
        }
        double error = 0;
        for (int i = 0; i < rows.length; i++) {
            double rest = product(rows[i], unknowns) - results[i];
            error += rest * rest;
        }
        return new Solution(unknowns, error);
    }

    static double product(double[] row, double[] unknowns) {
        double sum = 0;
        for (int column = 0; column < row.length; column++) {
            sum += row[column] * unknowns[column];
        }
        return sum;
    }

    /** Solves the normal equations; empty if they have no unique solution. */
    private static double[] normalEquations(double[][] rows, double[] results, int[] chosen) {
        int n = chosen.length;
        double[] lengths = new double[n];
        for (double[] row : rows) {
            for (int i = 0; i < n; i++) {
                lengths[i] = Math.hypot(lengths[i], row[chosen[i]]);
            }
        }
        double[][] equations = new double[n][n + 1];
        for (int row = 0; row < rows.length; row++) {
            for (int i = 0; i < n; i++) {
                double mine = rows[row][chosen[i]] / lengths[i];
                for (int j = 0; j < n; j++) {
                    equations[i][j] += mine * rows[row][chosen[j]] / lengths[j];
                }
                equations[i][n] += mine * results[row];
            }
        }
        double[] values = eliminate(equations);
        for (int i = 0; i < values.length; i++) {
            values[i] /= lengths[i];
        }
        return values;
    }

    /** Gauss-Jordan elimination with partial pivoting. */
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
