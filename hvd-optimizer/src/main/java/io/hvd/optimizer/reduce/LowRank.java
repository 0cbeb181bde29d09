package io.hvd.optimizer.reduce;

import io.hvd.tensor.Tensor;
import java.util.Arrays;

/** One gradient in one step of {@link PowerSgd}. Columns of P and Q lie one after the other. */
final class LowRank {
    private final Tensor gradient;
    private final int rows;
    private final int columns;
    private final int rank;
    /** The part that was left out before. */
    private final float[] errors;
    /** M: the gradient and what was left out before; then what the product leaves out of it. */
    private final float[] matrix;
    /** Q; at the end the averaged one. */
    private final float[] basis;

    private final float[] p;
    private boolean finite;

    LowRank(Tensor gradient, int rows, int columns, float[] errors, float[] basis) {
        this.gradient = gradient;
        this.rows = rows;
        this.columns = columns;
        this.rank = basis.length / columns;
        this.errors = errors;
        this.matrix = errors.clone();
        this.basis = basis;
        this.p = new float[rows * rank];
    }

    int lengthOfP() {
        return p.length;
    }

    int lengthOfQ() {
        return basis.length;
    }

    /** Makes M. */
    void addGradient() {
        FloatRows.add(gradient, matrix);
        finite = FloatRows.isFinite(matrix, 0, matrix.length);
    }

    /** Writes M Q, or NaN if M is not finite, so that all ranks know. */
    void timesQ(float[] to, int at) {
        if (!finite) {
            Arrays.fill(to, at, at + p.length, Float.NaN);
            return;
        }
        for (int k = 0; k < rank; k++) {
            for (int row = 0; row < rows; row++) {
                to[at + k * rows + row] = dot(matrix, row * columns, basis, k * columns);
            }
        }
    }

    private float dot(float[] a, int ofA, float[] b, int ofB) {
        float even = 0;
        float odd = 0;
        int i = 0;
        for (; i + 1 < columns; i += 2) {
            even += a[ofA + i] * b[ofB + i];
            odd += a[ofA + i + 1] * b[ofB + i + 1];
        }
        return even + odd + (i < columns ? a[ofA + i] * b[ofB + i] : 0);
    }

    /** Makes P orthonormal and writes M<sup>T</sup> P; NaN if P is not finite. */
    void timesP(float[] averaged, int ofP, float[] to, int at, double epsilon) {
        System.arraycopy(averaged, ofP, p, 0, p.length);
        if (!FloatRows.isFinite(p, 0, p.length)) {
            Arrays.fill(to, at, at + basis.length, Float.NaN);
            return;
        }
        Columns.orthonormalise(p, rank, epsilon);
        for (int k = 0; k < rank; k++) {
            for (int row = 0; row < rows; row++) {
                addTimes(p[k * rows + row], matrix, row * columns, to, at + k * columns);
            }
        }
    }

    private void addTimes(float factor, float[] from, int ofFrom, float[] to, int ofTo) {
        for (int i = 0; i < columns; i++) {
            to[ofTo + i] += factor * from[ofFrom + i];
        }
    }

    /** Overwrites the gradient with P Q<sup>T</sup>, and keeps what that leaves out of M. */
    void product(float[] q, int at) {
        if (!FloatRows.isFinite(q, at, at + basis.length)) {
            FloatRows.fill(gradient, Float.NaN);
            return;
        }
        System.arraycopy(q, at, basis, 0, basis.length);
        float[] product = new float[rows * columns];
        for (int k = 0; k < rank; k++) {
            for (int row = 0; row < rows; row++) {
                addTimes(p[k * rows + row], basis, k * columns, product, row * columns);
            }
        }
        FloatRows.write(product, gradient);
        for (int i = 0; i < product.length; i++) {
            matrix[i] -= product[i];
        }
        ErrorMemory.keep(matrix, errors, 0);
    }
}
